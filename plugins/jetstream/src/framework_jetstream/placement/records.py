"""What placement is asked, what it is told of servers, and what it says.

Source: nats-server `jetstream_cluster.go`, `selectPeerGroup`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

from msgspec import Struct

from framework.errors import FrameworkError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class PlacementServer(Struct, frozen=True, kw_only=True):
    """A server of the meta group, as the meta leader knows it when it places a stream."""

    peer: str
    """Its id in groups: the same whenever it is started."""
    name: str
    cluster: str
    tags: tuple[str, ...] = ()
    """In lower case."""
    is_known: bool = True
    """It has told how much it may store; if not, nothing is placed there."""
    is_online: bool = True
    is_caught_up: bool = True
    """With the meta group's log."""
    memory_bytes: int = 0
    """Free for streams in memory: neither used nor reserved."""
    storage_bytes: int = 0
    """As `memory_bytes`, of streams in files."""
    streams: int = 0
    """Streams with a replica there."""
    ha_assets: int = 0
    """Streams and consumers of more than one replica with one there."""


class PlacementRequest(Struct, frozen=True, kw_only=True):
    """Where replicas are to be placed."""

    account: str
    stream: str
    cluster: str
    """Name of the cluster that they stay within."""
    replicas: int = 1
    """1 to 5."""
    tags: tuple[str, ...] = ()
    """Servers must have them; those that begin with `!` they must not have."""
    storage: Literal["file", "memory"] = "file"
    max_bytes: int = -1
    """Of the stream; below 1: it reserves nothing."""
    existing: tuple[str, ...] = ()
    """Peers that stay, those that stay longest first."""
    ignored: tuple[str, ...] = ()
    """Peers that may not be taken, such as one that is removed."""
    unique_tag: str = ""
    """Beginning of tags of which no two replicas may share one; empty: they may."""
    ha_assets_max: int = 0
    """Of a server; 0: any number."""
    ha_cost: int = 1
    """How many more of them each new server gets; 0 where the stream has one replica."""
    metadata: Mapping[str, str] = {}
    """Of the stream's configuration: where users may say what a policy looks at."""


class NoPlacement(FrameworkError):  # noqa: N818 - it says what there is not
    """No suitable servers; its text is that of error 10005."""


class PlacementPolicy(Protocol):
    """Which of the suitable servers are better."""

    def order(
        self,
        request: PlacementRequest,
        candidates: Sequence[PlacementServer],
        existing: Sequence[PlacementServer],
    ) -> Sequence[PlacementServer]:
        """Return those of the candidates that may be taken, the best first.

        Called once a decision, by the meta leader, in the control loop; so it must not block. What
        it decides is written to the meta group, so it may look at whatever it likes.

        Args:
            request: What is placed.
            candidates: Servers that the rules permit, in nats-server's order: those online first,
                then those with fewest replicated assets (if the stream is replicated), then those
                with the most room, then those with the fewest streams.
            existing: Servers that have a replica already and keep it.

        Raises:
            NoPlacement: Nothing may be placed, with the reason for the user.
        """
        ...
