"""What a configuration of TLS comes to, and what is said of one that can't be followed."""

from __future__ import annotations

import ssl

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
)
from msgspec.structs import replace

from framework.server.tls.contexts import TlsError, make_client_context, make_server_context


def refusal(settings, make=make_server_context):
    with pytest.raises(TlsError) as raised:
        make(settings)
    return raised.value


def test_nothing_older_than_asked_for(settings):
    assert make_server_context(settings).minimum_version is ssl.TLSVersion.TLSv1_2
    assert (
        make_server_context(replace(settings, min_version="1.3")).minimum_version
        is ssl.TLSVersion.TLSv1_3
    )


def test_certificates_are_asked_for_when_they_are_wanted(settings):
    assert make_server_context(settings).verify_mode is ssl.CERT_NONE
    assert make_server_context(replace(settings, verify=True)).verify_mode is ssl.CERT_REQUIRED


def test_who_is_dialed_is_checked_unless_insecure(settings):
    context = make_client_context(settings)

    assert context.check_hostname
    assert context.verify_mode is ssl.CERT_REQUIRED

    context = make_client_context(replace(settings, insecure=True))

    assert not context.check_hostname
    assert context.verify_mode is ssl.CERT_NONE


def test_renegotiation_is_refused(settings):
    assert make_server_context(settings).options & ssl.OP_NO_RENEGOTIATION


def test_the_order_of_ciphers_is_the_clients_unless_they_are_listed(settings):
    listed = replace(settings, cipher_suites=("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",))

    assert not make_server_context(settings).options & ssl.OP_CIPHER_SERVER_PREFERENCE
    assert make_server_context(listed).options & ssl.OP_CIPHER_SERVER_PREFERENCE

    names = [it["name"] for it in make_server_context(listed).get_ciphers()]

    assert "ECDHE-ECDSA-AES128-GCM-SHA256" in names
    assert [name for name in names if not name.startswith("TLS_")] == [
        "ECDHE-ECDSA-AES128-GCM-SHA256"
    ]


def test_a_file_that_is_not_there(settings):
    error = refusal(replace(settings, certificates=(("nowhere.pem", "nowhere.key"),)))

    assert error.path == "tls.cert_file"
    assert "can't read nowhere.pem: no such file or directory" in str(error)


def test_the_key_of_another_certificate(settings, authority):
    other = authority.issue("other")
    pair = (settings.certificates[0][0], str(other.key_file))
    error = refusal(replace(settings, certificates=(pair,)))

    assert error.path == "tls.key_file"
    assert "is not the key of" in str(error)


def test_a_key_with_a_passphrase_is_refused_and_not_asked_about(settings, authority):
    issued = authority.issue("locked")
    key = ec.generate_private_key(ec.SECP256R1())
    locked = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"x"))
    issued.key_file.write_bytes(locked)
    pair = (str(issued.cert_file), str(issued.key_file))

    assert "without a passphrase" in str(refusal(replace(settings, certificates=(pair,))))


def test_an_authority_that_is_none(settings, tmp_path):
    (tmp_path / "empty.pem").write_text("nothing")
    empty = replace(settings, verify=True, ca_file=str(tmp_path / "empty.pem"))

    assert refusal(empty).path == "tls.ca_file"
    assert refusal(empty, make_client_context).path == "tls.ca_file"
    assert refusal(replace(empty, ca_file="nowhere.pem")).path == "tls.ca_file"


def test_ciphers_and_curves_that_openssl_lacks(settings, monkeypatch):
    monkeypatch.setattr(
        "framework.server.tls.contexts.OPENSSL_NAMES",
        {"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": "NO-SUCH-CIPHER"},
    )
    ciphers = ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",)

    assert refusal(replace(settings, cipher_suites=ciphers)).path == "tls.cipher_suites"

    monkeypatch.setattr("framework.server.tls.contexts.CURVE_NAMES", {"X25519": "no-such-curve"})

    assert refusal(replace(settings, curves=("X25519",))).path == "tls.curve_preferences"
