"""The client table: rows by link, by number and by account."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.server.clients.expirations import Expirations
from framework.spec import GLOBAL_ACCOUNT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from framework.server.clients.client_row import Client
    from framework.spec import LinkId


class ClientTable:
    """Find clients by link, number or account."""

    def __init__(self) -> None:
        self.expirations = Expirations()
        """Those that end at a time."""
        self._clients: dict[LinkId, Client] = {}
        self._by_cid: dict[int, Client] = {}
        self._by_account: dict[str, dict[LinkId, Client]] = {}
        """In the order in which they came in."""

    def __len__(self) -> int:
        """Return how many are connected, in accounts or not yet."""
        return len(self._clients)

    def __iter__(self) -> Iterator[Client]:
        """Go through all, oldest first."""
        return iter(self._clients.values())

    def get(self, link: LinkId) -> Client | None:
        """Return the client of a link."""
        return self._clients.get(link)

    def find(self, cid: int) -> Client | None:
        """Return the client with a connection ID."""
        return self._by_cid.get(cid)

    def links(self) -> Sequence[LinkId]:
        """Return the links of all, oldest first."""
        return tuple(self._clients)

    def add(self, client: Client) -> None:
        """Take in a connection."""
        self._clients[client.link] = self._by_cid[client.cid] = client

    def remove(self, link: LinkId) -> Client | None:
        """Forget a connection that is gone, and return what it was."""
        client = self._clients.pop(link, None)
        if client is not None:
            del self._by_cid[client.cid]
            self.leave(client)
        return client

    def enter(self, client: Client) -> None:
        """Count a logged-in client in its account, once."""
        self._by_account.setdefault(client.account, {}).setdefault(client.link, client)

    def leave(self, client: Client) -> None:
        """Remove a client from the count of its account."""
        self.expirations.discard(client.link)
        inside = self._by_account.get(client.account)
        if inside is not None and inside.pop(client.link, None) is not None and not inside:
            del self._by_account[client.account]

    def count(self, account: str) -> int:
        """Return how many clients are in an account."""
        return len(self._by_account.get(account, ()))

    def counts(self) -> dict[str, int]:
        """Return how many clients are in each account; who has not begun waits in the global one.

        Source: nats-server `server.go`, `createClientEx`.
        """
        counts = {name: len(inside) for name, inside in self._by_account.items()}
        waiting = len(self._clients) - sum(counts.values())
        if waiting:
            counts[GLOBAL_ACCOUNT] = counts.get(GLOBAL_ACCOUNT, 0) + waiting
        return counts

    def inside(self, account: str | None) -> Sequence[Client]:
        """Return the clients of an account, oldest first; None: of all accounts."""
        if account is not None:
            return tuple(self._by_account.get(account, {}).values())
        return tuple(client for client in self if client.has_begun)

    def accounts(self) -> Sequence[str]:
        """Return accounts with clients."""
        return tuple(self._by_account)
