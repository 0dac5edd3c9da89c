"""A topology: the servers of one file with their configurations."""

from __future__ import annotations

from msgspec import Struct

from framework.topology.place import Place
from framework.topology.planner import PortSlot
from framework.topology.server_config import ServerConfig

__all__ = ["ServerPlan", "Topology"]


class ServerPlan(Struct, frozen=True):
    """One server of a topology."""

    name: str
    """Unique in the topology."""
    cluster: str
    """The cluster it belongs to; empty for a server that was described by itself."""
    config: ServerConfig


class Topology(Struct, frozen=True):
    """The servers that one file describes, in the order of the file."""

    name: str
    file: str
    """The file, as the user named it."""
    plugins: tuple[str, ...] | None
    """Names of the plugins that every server loads; None: those that are installed."""
    servers: tuple[ServerPlan, ...]
    variables: tuple[Place, ...] = ()
    """Where a TOML file names a variable of the environment in place of a value."""
    slots: tuple[PortSlot, ...] = ()
    """The kinds of ports that servers may have."""

    def server(self, name: str) -> ServerPlan | None:
        """Return the server with a name; None if there is none."""
        return next((plan for plan in self.servers if plan.name == name), None)

    @property
    def clusters(self) -> dict[str, tuple[ServerPlan, ...]]:
        """The servers of each cluster, in the order of the file."""
        names = dict.fromkeys(plan.cluster for plan in self.servers)
        return {
            name: tuple(plan for plan in self.servers if plan.cluster == name) for name in names
        }
