"""Certificates for tests: made when they are needed, good for a day, worth nothing elsewhere.

Needs the distribution `cryptography`.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import ssl
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from msgspec import Struct

_VALID = dt.timedelta(days=1)
_HERE = ("localhost", "127.0.0.1")
BOTH = (ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH)
"""What servers of a cluster need: they accept routes, and dial them."""


class Issued(Struct, frozen=True):
    """A certificate and its key, in PEM files."""

    cert_file: Path
    key_file: Path


class Authority:
    """A certificate authority that only the parts of one test know.

    Args:
        folder: Holds all files.
        name: Its own, and of its file; two authorities of a test need two.
    """

    def __init__(self, folder: Path, name: str = "ca") -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name(name)
        constraints = x509.BasicConstraints(ca=True, path_length=None)
        certificate = (
            _builder(self._name, self._name, self._key)
            .add_extension(constraints, critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.ca_file = folder / f"{name}.pem"
        """Its own certificate, for `ca_file` and `--tlsca`."""
        self.ca_file.write_bytes(certificate.public_bytes(Encoding.PEM))

    def issue(
        self,
        name: str,
        *,
        hosts: Sequence[str] = _HERE,
        emails: Sequence[str] = (),
        usages: Sequence[x509.ObjectIdentifier] = BOTH,
        ended: bool = False,
    ) -> Issued:
        """Make a certificate.

        Args:
            name: Common name, and of the files.
            hosts: Names and addresses that it is for.
            emails: Addresses that it is for.
            usages: What it may be used for.
            ended: Its time was over yesterday.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        names: list[x509.GeneralName] = [_general_name(host) for host in hosts]
        names += [x509.RFC822Name(email) for email in emails]
        builder = _builder(_name(name), self._name, key, ended=ended)
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        usage = x509.ExtendedKeyUsage(usages)
        certificate = builder.add_extension(usage, critical=False).sign(self._key, hashes.SHA256())
        issued = Issued(self._folder / f"{name}.pem", self._folder / f"{name}.key")
        issued.cert_file.write_bytes(certificate.public_bytes(Encoding.PEM))
        issued.key_file.write_bytes(
            key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        )
        return issued

    def client_context(self, shows: Issued | None = None) -> ssl.SSLContext:
        """Return what a client of Python needs to trust servers, and to show a certificate."""
        context = ssl.create_default_context(cafile=str(self.ca_file))
        if shows:
            context.load_cert_chain(shows.cert_file, shows.key_file)
        return context


def _name(text: str) -> x509.Name:
    return x509.Name([
        x509.NameAttribute(NameOID.ORGANIZATION_NAME, "framework"),
        x509.NameAttribute(NameOID.COMMON_NAME, text),
    ])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, *, ended: bool = False
) -> x509.CertificateBuilder:
    ends = dt.datetime.now(dt.UTC) + (-_VALID if ended else _VALID)
    return (
        x509
        .CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(ends - 3 * _VALID)
        .not_valid_after(ends)
    )


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
