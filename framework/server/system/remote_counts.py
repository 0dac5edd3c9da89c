"""Connection counts of accounts on other servers.

A machine. Source: nats-server `accounts.go`, `updateRemoteServer`, `removeRemoteServer`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from framework.server.system.limits import REMOTE_ACCOUNTS_MAX

if TYPE_CHECKING:
    from collections.abc import Callable


class Counts(Struct, frozen=True):
    """Connections of one account on one server, or on all others together."""

    clients: int = 0
    leafnodes: int = 0


class RemoteCounts:
    """Counts by account and server; a server without connections takes no memory.

    Args:
        changed: Told of an account whose counts have changed.
    """

    def __init__(self, changed: Callable[[str], None] = lambda _: None) -> None:
        self._changed = changed
        self._accounts: dict[str, dict[str, Counts]] = {}
        self._size = 0

    def receive(self, account: str, server_id: str, counts: Counts) -> bool:
        """Note the counts of a server; return whether they have changed."""
        servers = self._accounts.get(account, {})
        if servers.get(server_id, Counts()) == counts:
            return False
        if counts == Counts():
            self._remove(account, server_id)
        else:
            if server_id not in servers:
                if self._size >= REMOTE_ACCOUNTS_MAX:
                    return False
                self._size += 1
            self._accounts.setdefault(account, {})[server_id] = counts
        self._changed(account)
        return True

    def receive_leaving(self, server_id: str) -> None:
        """Take note that a server has gone. Cost: O(accounts)."""
        for name in [name for name, servers in self._accounts.items() if server_id in servers]:
            self._remove(name, server_id)

    def total(self, account: str) -> Counts:
        """Return the counts of an account on all other servers. Cost: O(servers that have some)."""
        servers = self._accounts.get(account, {}).values()
        return Counts(sum(it.clients for it in servers), sum(it.leafnodes for it in servers))

    def server_count(self, account: str) -> int:
        """Return how many other servers have connections of an account."""
        return len(self._accounts.get(account, ()))

    def _remove(self, account: str, server_id: str) -> None:
        servers = self._accounts[account]
        del servers[server_id]
        self._size -= 1
        if not servers:
            del self._accounts[account]
