"""Plan the `gateway` block of each server of a topology: port, name, host, the other clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.topology import Derived, PortSlot, TopologyError, TopologyPlanner
from framework.topology.ports import ANY_PORT, is_wildcard
from framework.topology.units import join_address, url_with_login

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from framework.topology import DraftServer

_SLOT = "gateway"


def _derive(servers: Sequence[DraftServer]) -> Iterator[Derived | TopologyError]:
    joined = [server for server in servers if _SLOT in server.addresses]
    clusters = list(dict.fromkeys(server.cluster for server in joined))
    for server in joined:
        yield Derived(server, "gateway.name", server.cluster)
        if not _says_host(server):
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


def _says_host(server: DraftServer) -> bool:
    listen = str(server.said("gateway.listen") or "")
    return server.said("gateway.host") is not None or listen.rpartition(":")[0] != ""


def _gateway_url(server: DraftServer) -> str | TopologyError:
    """Return the URL by which other clusters reach a server."""
    host, port = server.addresses[_SLOT]
    advertised = str(server.said("gateway.advertise") or "")
    address = advertised or join_address(host, port)
    if advertised and ":" not in advertised:
        address = join_address(advertised, port)
    elif not advertised and (port == ANY_PORT or is_wildcard(host)):
        what = "its gateway port is any free one" if port == ANY_PORT else "it listens everywhere"
        problem = f"other clusters cannot connect to {server.name}: {what}"
        fix = "say its `gateway.host` and `gateway.port`, its `gateway.advertise`, or all gateways"
        return TopologyError(server.place, problem, fix)
    user, password = (
        str(server.said(f"gateway.authorization.{name}") or "") for name in ("user", "password")
    )
    return url_with_login("nats", address, user, password)


GATEWAY_PLANNER = TopologyPlanner(
    slots=(PortSlot(name=_SLOT, block="gateway", base=7222),), derive=_derive
)
"""Gives every server with a block `gateway` a port, and the other clusters as its `gateways`."""
