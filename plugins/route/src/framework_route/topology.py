"""Plan the `cluster` block of each server of a topology: port, name, host, routes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.topology import (
    Derived,
    PortSlot,
    TopologyError,
    TopologyPlanner,
    reach_url,
    says_host,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from framework.topology import DraftServer

_SLOT = "cluster"


def _needs_port(server: DraftServer, servers: Sequence[DraftServer]) -> bool:
    is_joined = sum(other.cluster == server.cluster for other in servers) > 1
    return is_joined or server.said("cluster") is not None


def _derive(servers: Sequence[DraftServer]) -> Iterator[Derived | TopologyError]:
    routed = [server for server in servers if _SLOT in server.addresses]
    for server in routed:
        yield Derived(server, "cluster.name", server.cluster)
        if not says_host(server, _SLOT):
            yield Derived(server, "cluster.host", server.addresses[_SLOT][0])
        if server.said("cluster.routes") is None:
            others = [it for it in routed if it is not server and it.cluster == server.cluster]
            urls = [_route_url(other) for other in others]
            yield from (url for url in urls if isinstance(url, TopologyError))
            good = [url for url in urls if isinstance(url, str)]
            yield Derived(server, "cluster.routes", good)


def _route_url(server: DraftServer) -> str | TopologyError:
    """Return the URL by which the others reach a server."""
    unreachable = "the others cannot route to"
    return reach_url(server, _SLOT, unreachable=unreachable, instead="all routes")


CLUSTER_PLANNER = TopologyPlanner(
    slots=(PortSlot(name=_SLOT, block="cluster", base=6222, is_needed=_needs_port),),
    derive=_derive,
    joins_clusters=True,
)
"""Gives every server of a cluster a port for routes, and the others as its `routes`."""
