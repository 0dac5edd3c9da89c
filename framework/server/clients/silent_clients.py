"""Clients that have not said CONNECT: which of them has to go when there are too many."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from framework.spec import LinkId


class SilentClients:
    """Those that were accepted and have said nothing yet, by age and by address."""

    def __init__(self) -> None:
        self._hosts: dict[LinkId, str] = {}
        """Oldest first."""
        self._by_host: dict[str, dict[LinkId, None]] = {}

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._hosts)

    def add(self, link: LinkId, host: str) -> None:
        """Take note of one that was accepted."""
        self._hosts[link] = host
        self._by_host.setdefault(host, {})[link] = None

    def discard(self, link: LinkId) -> None:
        """Take note that one has spoken, or has gone; of others nothing is known."""
        host = self._hosts.pop(link, None)
        if host is None:
            return
        own = self._by_host[host]
        del own[link]
        if not own:
            del self._by_host[host]

    def oldest(self, host: str, *, share: int) -> LinkId | None:
        """Return who goes for a newcomer; None: nobody is silent.

        Args:
            host: Where the newcomer comes from.
            share: So many of one address are too many: then it is one of these.
        """
        own = self._by_host.get(host)
        if own is not None and len(own) >= share:
            return next(iter(own))
        return next(iter(self._hosts), None)
