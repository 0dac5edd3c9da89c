"""Authentication of servers that dial this one.

Source: nats-server `auth.go`, `isRouterAuthorized`, `isGatewayAuthorized`,
`checkClientTLSCertSubject`.
"""

from __future__ import annotations

import hmac
from typing import ClassVar

from framework.redacted import Redacted
from framework.wire.certificates import CertificateFacts, is_name_for

_HASHES = ("$2a$", "$2b$", "$2x$", "$2y$")


class Login(Redacted, frozen=True):
    """Credentials that an accepted connection must bring, and its timeout."""

    hidden: ClassVar = frozenset({"password"})

    user: str = ""
    """Empty: anybody may connect."""
    password: str = ""
    """Or its bcrypt hash."""
    timeout_s: float = 2.0
    """From the opening of the connection to its registration."""
    maps_certificates: bool = False
    """The certificate tells who it is, and no password is asked for."""
    known_hosts: tuple[str, ...] | None = None
    """A certificate for one of these will do; None: it takes more than that."""

    @property
    def goes_by_certificate(self) -> bool:
        """Tell whether passwords do not count."""
        return self.maps_certificates or self.known_hosts is not None

    @property
    def is_hashed(self) -> bool:
        """Tell whether a password can only be checked by work: `CheckPassword`."""
        return bool(self.user) and self.password.startswith(_HASHES)

    def admits(self, user: str, password: str) -> bool:
        """Compare in a time that does not tell how much of the two was right."""
        if not self.user:
            return True
        expected = f"{self.user}\0{self.password}".encode("utf-8", "surrogatepass")
        return hmac.compare_digest(expected, f"{user}\0{password}".encode("utf-8", "surrogatepass"))

    def admits_certificate(self, facts: CertificateFacts | None) -> bool:
        """Tell whether a certificate proves enough; None: none was shown."""
        if facts is None:
            return False
        if self.known_hosts and any(is_name_for(facts.names, host) for host in self.known_hosts):
            return True
        if not self.maps_certificates or not self.user:
            return False  # a certificate without a name names nobody
        return self.user in {*facts.alternatives, facts.subject}
