"""Queue of gateway passwords to compare with hashes, one at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from framework.spec import LinkId
    from framework_gateway.effect import CheckPassword


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
