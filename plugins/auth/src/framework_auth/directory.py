"""Users of the configuration: find the user of a login, and whether it stays after a reload."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, ClassVar

from framework.spec import Accepted, ClosedState, Redacted, Refused
from framework_auth.passwords import Passwords

if TYPE_CHECKING:
    from framework_auth.certificates import CertificateUsers
    from framework_auth.users import User, Users


class Way(Enum):
    """How a client has authenticated."""

    SECRET = "secret"  # noqa: S105 - no secret
    NKEY = "nkey"
    CERTIFICATE = "certificate"
    NOTHING = "nothing"
    """By saying nothing, where that is enough."""
    PORT = "port"
    """In the same way, at a port that has a `no_auth_user` of its own."""


class Proof(Redacted, frozen=True):
    """Credentials that a login was accepted for."""

    hidden: ClassVar = frozenset({"digest"})

    way: Way
    name: str
    """Of the user."""
    digest: bytes = b""
    """Of the secret, keyed."""


class Directory:
    """The users of the configuration, by name and by nkey.

    Args:
        users: Those of the configuration in force.
        key: Of the digests of secrets, 32 random bytes.
    """

    def __init__(self, users: Users, *, key: bytes) -> None:
        self._key = key
        self.users = users
        self.passwords = Passwords(_secrets(users), key=key)
        self._certificates: dict[str, CertificateUsers] = {}

    def replace(self, users: Users) -> None:
        """Put other users in force."""
        self.users = users
        self.passwords = Passwords(_secrets(users), key=self._key, former=self.passwords)
        self._certificates = {}

    def find(self, way: Way, name: str) -> User | None:
        """Return the user who may log in that way under a name; None: there is none."""
        match way:
            case Way.NKEY:
                return self.users.by_nkey.get(name)
            case Way.NOTHING:
                nobody = self.users.nobody
                return nobody if nobody and nobody.name == name else None
            case Way.PORT:
                return self.users.by_nkey.get(name) or self.users.by_name.get(name)
            case _:
                return self.users.by_name.get(name)

    def find_by_certificate(self, certificate: bytes, connection_type: str) -> str | None:
        """Return the name of the user of a certificate in DER; None when there is none."""
        index = self._certificates.get(connection_type)
        if index is None:
            from framework_auth.certificates import CertificateUsers  # noqa: PLC0415 - parses X.509

            index = CertificateUsers(self.users.by_name, connection_type)
            self._certificates[connection_type] = index
        return index.find(certificate)

    def accept(self, proof: Proof, connection_type: str) -> Accepted | Refused:
        """Return what a user may do who has proven to be who he is."""
        user = self.find(proof.way, proof.name)
        if user is None:
            return Refused("the user is gone")
        if not user.may_connect_by(connection_type):
            return Refused(f"connection type {connection_type} is not allowed")
        return Accepted(user.name, user.account, user.permissions, proof=proof)

    def accept_again(self, proof: Proof, connection_type: str) -> Accepted | Refused:
        """Return whether who has logged in earlier may stay, and what he may do now."""
        if self.find(proof.way, proof.name) is None:
            # Source: nats-server `reload.go`, `clientHasMovedToDifferentAccount`.
            return Refused("the user is gone", reason=ClosedState.CLIENT_CLOSED)
        if proof.way is Way.SECRET and not self.passwords.is_proof(proof.name, proof.digest):
            return Refused("the password has changed")
        return self.accept(proof, connection_type)


def _secrets(users: Users) -> dict[str, str]:
    return {name: user.secret for name, user in users.by_name.items() if user.secret}
