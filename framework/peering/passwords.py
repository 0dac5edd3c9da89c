"""Compare passwords of servers with bcrypt hashes: in a worker thread, one at a time."""

from __future__ import annotations

import hmac

from framework.dataplane.link import LinkId
from framework.peering.effects import CheckPassword

_PASSWORD_BYTES_MAX = 72
"""bcrypt looks at no more."""


def matches(hashed: str, password: str) -> bool:
    """Tell whether a password is the one of a hash; a malformed hash has none."""
    import bcrypt  # noqa: PLC0415 - most servers never need it

    given = password.encode("utf-8", "surrogatepass")[:_PASSWORD_BYTES_MAX]
    try:
        return hmac.compare_digest(bcrypt.hashpw(given, hashed.encode()), hashed.encode())
    except ValueError:
        return False


class PasswordQueue:
    """Passwords to compare, in order of arrival.

    A check costs tenths of a second of a thread that others need as well, and anybody may ask for
    one. So there is one at a time, and none for a connection that has ended: there are no more
    than connections that may be in their handshake.
    """

    def __init__(self) -> None:
        self._waiting: dict[LinkId, CheckPassword] = {}
        self._is_busy = False

    def add(self, link: LinkId, check: CheckPassword) -> None:
        """Let a connection wait for its turn."""
        self._waiting[link] = check

    def begin(self) -> tuple[LinkId, CheckPassword] | None:
        """Return what is to be checked now; None: nothing, or one is being checked."""
        if self._is_busy or not self._waiting:
            return None
        self._is_busy = True
        link = next(iter(self._waiting))
        return link, self._waiting.pop(link)

    def end(self) -> None:
        """Take note that a check is over."""
        self._is_busy = False

    def forget(self, link: LinkId) -> None:
        """Check nothing for a connection that has ended."""
        self._waiting.pop(link, None)
