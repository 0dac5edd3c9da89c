"""Map a TLS certificate to a user (`verify_and_map`).

X.509 is parsed by `cryptography`: the standard library shows only what `ssl` has checked on a
connection of its own. Source: nats-server `auth.go`, `checkClientTLSCertSubject`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cryptography import x509

from framework.wire.certificates import alternative_names
from framework_auth.distinguished_name import (
    name_from_subject,
    parse_name,
    texts_from_subject,
    without_order,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework_auth.distinguished_name import Name, Part
    from framework_auth.users import User


class CertificateUsers:
    """Users by names in their certificates.

    Args:
        users: By name, which is what a certificate must hold.
        connection_type: Those who may not connect this way are passed over.
    """

    def __init__(self, users: Mapping[str, User], connection_type: str) -> None:
        self._users = {
            name: user for name, user in users.items() if user.may_connect_by(connection_type)
        }
        self._ordered: dict[Name, str] = {}
        self._unordered: dict[frozenset[tuple[Part, int]], str] = {}
        for text in self._users:
            name = parse_name(text) if "=" in text else None
            if name is not None:
                self._ordered.setdefault(name, text)
                self._unordered.setdefault(without_order(name), text)

    def find(self, certificate: bytes) -> str | None:
        """Return the name of the user of a certificate in DER; None when there is none.

        Tried are mail addresses, DNS names, URIs, then the subject: its parts in their order, in
        any order, and at last as Go writes it.
        """
        try:
            parsed = x509.load_der_x509_certificate(certificate)
            alternatives = [name for names in alternative_names(parsed) for name in names]
            subject = [
                [(it.oid.dotted_string, str(it.value)) for it in part]
                for part in parsed.subject.rdns
            ]
        except ValueError:
            return None
        for text in alternatives:
            if text in self._users:
                return text
        name = name_from_subject(subject)
        found = name and (self._ordered.get(name) or self._unordered.get(without_order(name)))
        if found:
            return found
        return next((text for text in texts_from_subject(subject) if text in self._users), None)
