"""Notices of connected and disconnected clients, for the system account and for plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from framework.spec import ClientIdentity, Closed, ClosedState, ConnectionInfo


class ClientSeen(Struct, frozen=True):
    """A client at the time of a notice."""

    connection: ConnectionInfo
    identity: ClientIdentity
    """Of who was not let in: what it has claimed to be."""
    opened_ns: int
    """Monotonic."""


class ClientWatcher(Protocol):
    """Receives notices in the control loop; must not block."""

    def client_connected(self, client: ClientSeen) -> None:
        """Note an accepted login."""
        ...

    def client_disconnected(self, client: ClientSeen, closed: Closed) -> None:
        """Note the end of a logged-in client; its counters are in `closed.row`."""
        ...

    def client_refused(self, client: ClientSeen, closed: Closed) -> None:
        """Note a refused client, also one that was logged in before."""
        ...


class ConnectionNotices(Protocol):
    """Notify plugins of connected and disconnected clients."""

    def report_opened(self, connection: ConnectionInfo) -> None:
        """Take note of a client whose CONNECT was accepted."""
        ...

    def report_closed(self, connection: ConnectionInfo, reason: ClosedState) -> None:
        """Take note of its end."""
        ...
