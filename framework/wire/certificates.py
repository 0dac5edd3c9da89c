"""Fields of certificates for configuration, pinning and monitoring."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from cryptography.x509 import Certificate


class CertificateFacts(Struct, frozen=True):
    """One certificate."""

    subject: str
    """As RFC 4514 writes it."""
    spki_sha256: str
    """Hex, of the DER encoded SubjectPublicKeyInfo."""
    cert_sha256: str
    """Hex, of the whole."""
    not_after_s: float
    """Unix time."""
    names: frozenset[str]
    """DNS names that it is for, in lower case, `*.` at their beginning."""
    alternatives: tuple[str, ...]
    """Its mail addresses, DNS names, then URIs, as they stand there."""


def facts_from_der(der: bytes) -> CertificateFacts:
    """Return what a certificate in DER says.

    Raises:
        ValueError: It is none.
    """
    # Imported here: its 10 MB are for servers that speak TLS.
    from cryptography import x509  # noqa: PLC0415

    return _facts(x509.load_der_x509_certificate(der))


def facts_from_pem(pem: bytes) -> CertificateFacts:
    """Return what the first certificate of a PEM file says.

    Raises:
        ValueError: There is none.
    """
    from cryptography import x509  # noqa: PLC0415

    return _facts(x509.load_pem_x509_certificate(pem))


def _facts(certificate: Certificate) -> CertificateFacts:
    from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415
        Encoding,
        PublicFormat,
    )

    spki = certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    mails, hosts, uris = alternative_names(certificate)
    return CertificateFacts(
        subject=certificate.subject.rfc4514_string(),
        spki_sha256=hashlib.sha256(spki).hexdigest(),
        cert_sha256=hashlib.sha256(certificate.public_bytes(Encoding.DER)).hexdigest(),
        not_after_s=certificate.not_valid_after_utc.timestamp(),
        names=frozenset(name.lower() for name in hosts),
        alternatives=(*mails, *hosts, *uris),
    )


def alternative_names(certificate: Certificate) -> tuple[tuple[str, ...], ...]:
    """Return the mail addresses, the DNS names and the URIs that a certificate is for.

    Raises:
        ValueError: It is malformed.
    """
    from cryptography import x509  # noqa: PLC0415

    kinds = (x509.RFC822Name, x509.DNSName, x509.UniformResourceIdentifier)
    try:
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return tuple(() for _ in kinds)
    return tuple(tuple(extension.value.get_values_for_type(kind)) for kind in kinds)


def is_name_for(names: frozenset[str], host: str) -> bool:
    """Tell whether one of a certificate's names stands for a host; a `*` is one label."""
    host = host.lower().rstrip(".")
    return host in names or f"*.{host.partition('.')[2]}" in names
