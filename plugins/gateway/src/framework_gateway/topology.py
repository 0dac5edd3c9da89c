"""Plan the `gateway` block of each server of a topology: port, name, host, the other clusters."""

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

_SLOT = "gateway"


def _derive(servers: Sequence[DraftServer]) -> Iterator[Derived | TopologyError]:
    joined = [server for server in servers if _SLOT in server.addresses]
    clusters = list(dict.fromkeys(server.cluster for server in joined))
    for server in joined:
        yield Derived(server, "gateway.name", server.cluster)
        if not says_host(server, _SLOT):
            yield Derived(server, "gateway.host", server.addresses[_SLOT][0])
        if server.said("gateway.gateways") is None:
            others = [it for it in joined if it.cluster != server.cluster]
            urls = {it.name: _gateway_url(it) for it in others}
            yield from (url for url in urls.values() if isinstance(url, TopologyError))
            remotes = [
                {
                    "name": cluster,
                    "urls": [
                        url
                        for it in others
                        if it.cluster == cluster and isinstance(url := urls[it.name], str)
                    ],
                }
                for cluster in clusters
                if cluster != server.cluster
            ]
            yield Derived(server, "gateway.gateways", [it for it in remotes if it["urls"]])


def _gateway_url(server: DraftServer) -> str | TopologyError:
    """Return the URL by which other clusters reach a server."""
    unreachable = "other clusters cannot connect to"
    return reach_url(server, _SLOT, unreachable=unreachable, instead="all gateways")


GATEWAY_PLANNER = TopologyPlanner(
    slots=(PortSlot(name=_SLOT, block="gateway", base=7222),), derive=_derive
)
"""Gives every server with a block `gateway` a port, and the other clusters as its `gateways`."""
