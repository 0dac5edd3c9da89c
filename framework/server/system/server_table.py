"""Other servers that this one hears of in the system account, and when they fall silent.

A machine: it is told what was heard and when, and says what follows.
Source: nats-server `events.go`, `updateRemoteServer`, `checkRemoteServers`.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from msgspec import Struct

from framework.server.system.limits import SERVER_SILENT_S_MAX, SERVERS_MAX

_SILENT_NS_MAX: Final = round(SERVER_SILENT_S_MAX * 1_000_000_000)


class Heard(Enum):
    """What a message of another server tells about it: new, known, late or refused."""

    NEW = "new"
    """A server that was not known: it has to hear of us."""
    KNOWN = "known"
    LATE = "late"
    """Something newer was heard before; it changes nothing."""
    REFUSED = "refused"
    """The table is full, or the sign is our own."""


class _Server(Struct):
    seq: int
    heard_ns: int


class ServerTable:
    """Other servers by ID.

    Args:
        own_id: Of this server, which is not in the table.
    """

    def __init__(self, own_id: str) -> None:
        self._own_id = own_id
        self._servers: dict[str, _Server] = {}

    def __len__(self) -> int:
        """Return how many others there are."""
        return len(self._servers)

    def __contains__(self, server_id: str) -> bool:
        """Tell whether a server is known."""
        return server_id in self._servers

    @property
    def active_count(self) -> int:
        """How many servers there are, this one included."""
        return len(self._servers) + 1

    def receive_sign(self, server_id: str, seq: int, now_ns: int) -> Heard:
        """Note a sign of life of another server.

        Args:
            server_id: Who.
            seq: The number of what it said; goes up.
            now_ns: Monotonic.
        """
        if server_id == self._own_id or not server_id:
            return Heard.REFUSED
        server = self._servers.get(server_id)
        if server is None:
            if len(self._servers) >= SERVERS_MAX:
                return Heard.REFUSED
            self._servers[server_id] = _Server(seq, now_ns)
            return Heard.NEW
        if seq <= server.seq:
            return Heard.LATE
        server.seq, server.heard_ns = seq, now_ns
        return Heard.KNOWN

    def receive_leaving(self, server_id: str) -> bool:
        """Note that a server is leaving; return whether it was known."""
        return self._servers.pop(server_id, None) is not None

    def sweep(self, now_ns: int) -> list[str]:
        """Remove servers that were silent for too long, and return their IDs."""
        silent = [
            server_id
            for server_id, server in self._servers.items()
            if now_ns - server.heard_ns > _SILENT_NS_MAX
        ]
        for server_id in silent:
            del self._servers[server_id]
        return silent
