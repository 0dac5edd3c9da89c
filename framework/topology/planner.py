"""What a plugin adds to the plan of a topology: ports, and settings that follow from the file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from framework.topology.errors import TopologyError
from framework.topology.node import Node
from framework.topology.place import Place

__all__ = ["Derived", "DraftServer", "PortSlot", "TopologyPlanner"]


class DraftServer(Struct, frozen=True):
    """A server of a topology whose values are not read yet; nothing of it was checked."""

    name: str
    cluster: str
    own: Node
    """What the file says of it alone."""
    settings: Node
    """What the file says of it, its cluster and all servers; keys in their first spelling."""
    addresses: Mapping[str, tuple[str, int]] = {}
    """Name of a slot to host and port; port -1 for any free one. Empty until ports are assigned."""

    @property
    def place(self) -> Place:
        """Where the file names it, for errors."""
        return self.own.key_place

    def said(self, path: str) -> object | None:
        """Return what the file sets, given a path such as `cluster.host`; None: it does not."""
        node = self.settings
        for key in path.split("."):
            if not isinstance(node.value, dict) or key not in node.value:
                return None
            node = node.value[key]
        return node.plain()


class PortSlot(Struct, frozen=True, kw_only=True):
    """A kind of port that servers listen on, which a topology counts up from server to server."""

    name: str
    """What messages and `framework check` call it, such as `cluster`."""
    block: str = ""
    """The block its options stand in; empty for the top level."""
    listen: str = "listen"
    port: str = "port"
    """The options that set it: host and port together, and the port alone."""
    base: int
    """Where counting begins unless the file says."""
    is_needed: Callable[[DraftServer, Sequence[DraftServer]], bool] | None = None
    """Whether a server listens there, given all servers; None: those do whose file has the block,
    or outside of a block one of the two options."""

    def is_of(self, server: DraftServer, servers: Sequence[DraftServer]) -> bool:
        """Tell whether a server of a topology listens there."""
        if self.is_needed is not None:
            return self.is_needed(server, servers)
        names = [self.block] if self.block else [self.listen, self.port]
        return any(server.said(name) is not None for name in names)


class Derived(Struct, frozen=True):
    """A setting that follows from the file; what the file itself sets stays."""

    server: DraftServer
    path: str
    """Such as `cluster.routes`."""
    value: object
    """As a file would say it: text, number, list, or table."""


Derive: TypeAlias = Callable[[Sequence[DraftServer]], Iterable[Derived | TopologyError]]


def _derive_nothing(_servers: Sequence[DraftServer]) -> Iterable[Derived]:
    return ()


class TopologyPlanner(Struct, frozen=True, kw_only=True):
    """Plan what one plugin needs of the servers of a topology.

    It works with the file alone, and probes nothing: every host must come to the same plan.
    """

    slots: tuple[PortSlot, ...] = ()
    derive: Derive = _derive_nothing
    """Takes all servers, with the addresses of all slots; yields settings, and what is wrong."""
    joins_clusters: bool = False
    """It connects the servers of a cluster; without such a planner a cluster has one server."""
