"""The service behind TLS, with an authority of its own."""

from __future__ import annotations

import datetime as dt
import ipaddress
import ssl

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from service import LoginService


@pytest.fixture
def certificate(tmp_path):
    """A file with a key and a certificate for 127.0.0.1, which is its own authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "login")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509
        .CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(minutes=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]),
            critical=False,
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path / "service.pem"
    encoding = serialization.Encoding.PEM
    file.write_bytes(
        made.public_bytes(encoding)
        + key.private_bytes(
            encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return file


@pytest.fixture
def service(certificate):
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    with LoginService(tls) as service:
        yield service


def test_the_service_is_asked_by_https(service, start, lets_in, certificate):
    service.answers["joe"] = (200, {})
    server = start(url="https://127.0.0.1:{port}/", ca_file=str(certificate))

    assert lets_in(server)
    assert len(service.questions) == 1


def test_a_service_that_nobody_vouches_for_is_not_asked(service, start, lets_in):
    server = start(url="https://127.0.0.1:{port}/")

    assert not lets_in(server)
    assert service.questions == []
    server.wait_log("certificate verify failed")


def test_authorities_that_can_not_be_read_stop_the_start(start, tmp_path):
    with pytest.raises(Exception, match="ca_file"):
        start(url="https://127.0.0.1:{port}/", ca_file=str(tmp_path / "absent.pem"))
