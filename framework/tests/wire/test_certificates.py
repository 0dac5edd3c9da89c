from __future__ import annotations

import hashlib
import ssl

import pytest

from framework.testing.certificates import Authority
from framework.wire.certificates import facts_from_der, facts_from_pem, is_name_for
from framework.wire.cipher_suites import go_name_from_openssl


def test_what_a_certificate_says(tmp_path):
    issued = Authority(tmp_path).issue("joe", hosts=["Here.Test", "127.0.0.1"])
    pem = issued.cert_file.read_text()
    der = ssl.PEM_cert_to_DER_cert(pem)
    facts = facts_from_der(der)

    assert facts == facts_from_pem(pem.encode())
    assert facts.subject == "CN=joe,O=framework"
    assert facts.cert_sha256 == hashlib.sha256(der).hexdigest()
    assert len(facts.spki_sha256) == len(facts.cert_sha256) != 0
    assert facts.names == {"here.test"}


def test_one_without_names(tmp_path):
    issued = Authority(tmp_path).issue("joe", hosts=[])

    assert facts_from_pem(issued.cert_file.read_bytes()).names == frozenset()


@pytest.mark.parametrize("read", [facts_from_der, facts_from_pem])
def test_what_is_no_certificate(read):
    with pytest.raises(ValueError, match=r"."):
        read(b"nonsense")


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("here.test", True),
        ("HERE.test.", True),
        ("a.wild.test", True),
        ("a.b.wild.test", False),
        ("wild.test", False),
        ("there.test", False),
    ],
)
def test_whom_a_certificate_is_for(host, expected):
    assert is_name_for(frozenset({"here.test", "*.wild.test"}), host) is expected


def test_cipher_suites_have_the_names_of_go():
    assert (
        go_name_from_openssl("ECDHE-RSA-AES128-GCM-SHA256")
        == "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"
    )
    assert go_name_from_openssl("TLS_AES_128_GCM_SHA256") == "TLS_AES_128_GCM_SHA256"
