"""What the meta leader has heard of servers lately: too much for the log, and soon out of date."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from framework_jetstream.placement.records import PlacementServer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from framework_jetstream.meta.state import MetaState

OFFLINE_AFTER_NS: Final = 10_000_000_000
"""Without a word; nats-server takes one for offline as soon as the route to it has ended."""
SILENT_AFTER_NS: Final = 500_000_000
"""Without an answer to heartbeats of the meta group's leader, of which it sends six meanwhile: what
is new goes to others, if it can; it is too short a time to call a server offline."""


class Sighting(Struct, frozen=True, kw_only=True):
    """What a server has said of itself."""

    heard_ns: int
    """By the clock of who has heard it, which never goes back."""
    memory_bytes: int = 0
    """That streams in memory take."""
    storage_bytes: int = 0
    faulty: frozenset[str] = frozenset()
    """Groups of which something is lost there, and not given back yet."""
    lost: Mapping[str, Sequence[tuple[int, int]]] = {}
    """Of streams among them, which messages, as in `letters.Hello`."""
    is_caught_up: bool = True
    """With the meta group's log, by what its leader knows."""


class Fleet:
    """Who is there."""

    def __init__(self) -> None:
        self._sightings: Final[dict[str, Sighting]] = {}
        self._voters: frozenset[str] | None = None
        self._silent: frozenset[str] = frozenset()

    def hear(self, peer: str, sighting: Sighting) -> None:
        """Take what a server has said."""
        self._sightings[peer] = sighting

    def lose(self, peer: str) -> None:
        """Forget a server: no link leads to it any more."""
        self._sightings.pop(peer, None)

    def hear_voters(self, voters: frozenset[str] | None) -> None:
        """Take who votes in the meta group; None: servers get something whether they vote or not.

        A server that was told of the group takes what is assigned before it votes for what it may
        have lost (`cluster/loss_gate.py`): of two such servers in three nobody could lead.
        """
        self._voters = voters

    def hear_silence(self, silent: frozenset[str]) -> None:
        """Take who does not answer the meta group's leader, which is this server."""
        self._silent = silent

    def is_heard(self, peer: str, now_ns: int) -> bool:
        """Return whether a server is online, and answers this moment, as far as this one knows."""
        return peer not in self._silent and self.is_online(peer, now_ns)

    def is_online(self, peer: str, now_ns: int) -> bool:
        """Return whether a server was heard a short while ago."""
        seen = self._sightings.get(peer)
        return seen is not None and now_ns - seen.heard_ns < OFFLINE_AFTER_NS

    def is_whole(self, peer: str, group_name: str) -> bool:
        """Return whether a server has not said that something of a group is lost there."""
        seen = self._sightings.get(peer)
        return seen is None or group_name not in seen.faulty

    def lost_at(self, peer: str, group_name: str) -> Sequence[tuple[int, int]]:
        """Return which messages of a group a server has said to be lost there."""
        seen = self._sightings.get(peer)
        return seen.lost.get(group_name, ()) if seen is not None else ()

    def candidates(self, state: MetaState, now_ns: int) -> list[PlacementServer]:
        """Return the servers of the meta group as placement wants them."""
        return [self._candidate(state, peer, now_ns) for peer in state.servers]

    def _candidate(self, state: MetaState, peer: str, now_ns: int) -> PlacementServer:
        server, load = state.servers[peer], state.load(peer)
        seen = self._sightings.get(peer)
        memory, storage = (seen.memory_bytes, seen.storage_bytes) if seen else (0, 0)
        return PlacementServer(
            peer=peer,
            name=server.name,
            cluster=server.cluster,
            tags=server.tags,
            is_known=seen is not None and (self._voters is None or peer in self._voters),
            is_online=self.is_heard(peer, now_ns),
            is_caught_up=seen is not None and seen.is_caught_up,
            memory_bytes=max(0, server.memory_bytes - max(memory, load.memory_bytes)),
            storage_bytes=max(0, server.storage_bytes - max(storage, load.storage_bytes)),
            streams=load.streams,
            ha_assets=load.ha_assets,
        )
