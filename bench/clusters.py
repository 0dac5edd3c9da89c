"""Clusters to measure: all servers of one kind."""

from __future__ import annotations

import compileall
import time
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

import psutil

from framework.testing import free_port
from framework.testing.fleet import await_mesh

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bench.contest import Contestant
    from framework.testing import Fleet, ServerProcess


_LOOK_EVERY_S = 0.01


def rss_bytes(servers: Sequence[ServerProcess]) -> float:
    """Return the memory of the largest server."""
    return max(float(psutil.Process(server.pid).memory_info().rss) for server in servers)


def config(
    contestant: Contestant,
    cluster_port: int,
    http_port: int,
    seeds: Sequence[int] = (),
    more: str = "",
) -> str:
    """Return the text of a configuration file with `more`; all ports are on 127.0.0.1."""
    urls = ", ".join(f'"nats://127.0.0.1:{seed}"' for seed in seeds)
    return f"""
        {more}
        http: "127.0.0.1:{http_port}"
        cluster {{
            name: bench
            listen: "127.0.0.1:{cluster_port}"
            routes: [{urls}]
            {contestant.settings}
        }}
    """


def start_cluster(
    fleet: Fleet,
    contestant: Contestant,
    count: int,
    *,
    more: str = "",
    wire: Callable[[int], int] = int,
) -> list[ServerProcess]:
    """Start servers one after the other, and wait until all know each other.

    Args:
        fleet: Will stop them.
        contestant: What they are.
        count: Servers; the first is the seed of the others.
        more: In the configuration of each.
        wire: Given the port of a server, returns the one where others find it.
    """
    servers: list[ServerProcess] = []
    for _ in range(count):
        seeds = [wire(server.cluster_port) for server in servers[:1]]
        text = config(contestant, -1, free_port(), seeds, more)
        servers.append(fleet.start(kind=contestant.kind, config=text, clustered=True))
    await_mesh(*servers)
    return servers


def start_supercluster(
    fleet: Fleet,
    contestant: Contestant,
    count: int,
    *,
    more: str = "",
    wire: Callable[[int], int] = int,
) -> list[ServerProcess]:
    """Start clusters of one server each, and wait until each is connected to all others.

    Args:
        fleet: Will stop them.
        contestant: What they are; its settings stand in the block `gateway`.
        count: Clusters.
        more: In the configuration of each server.
        wire: As of `start_cluster`.
    """
    ports = {f"c{number}": free_port() for number in range(count)}
    found = {name: wire(port) for name, port in ports.items()}
    remotes = "".join(
        f'{{ name: {name}, url: "nats://127.0.0.1:{port}" }}\n' for name, port in found.items()
    )
    servers = [
        fleet.start(
            kind=contestant.kind,
            config=f"""
                {more}
                http: "127.0.0.1:{free_port()}"
                gateway {{
                    name: {name}
                    listen: "127.0.0.1:{port}"
                    advertise: "127.0.0.1:{found[name]}"
                    gateways: [{remotes}]
                    {contestant.settings}
                }}
            """,
        )
        for name, port in ports.items()
    ]
    for server in servers:
        while _gateways(server) < 2 * (count - 1):
            time.sleep(_LOOK_EVERY_S)
    return servers


def _gateways(server: ServerProcess) -> int:
    """Return how many connections a server has with other clusters, in both directions."""
    document = server.document("/gatewayz")
    inbound = sum(len(each) for each in document["inbound_gateways"].values())
    return len(document["outbound_gateways"]) + inbound


def hub_config(contestant: Contestant, port: int, more: str = "") -> str:
    """Return the configuration of a server that leaf nodes connect to, with `more`."""
    return f"""
        {more}
        server_name: hub
        http: "127.0.0.1:{free_port()}"
        leafnodes {{
            listen: "127.0.0.1:{port}"
            {contestant.settings}
        }}
    """


def leaf_config(port: int, more: str = "") -> str:
    """Return the configuration of a leaf node of the hub at a port, with `more`."""
    return f"""
        {more}
        http: "127.0.0.1:{free_port()}"
        leafnodes {{
            reconnect: "100ms"
            remotes: [ {{ url: "nats-leaf://127.0.0.1:{port}" }} ]
        }}
    """


def start_leafnodes(
    fleet: Fleet,
    contestant: Contestant,
    count: int,
    *,
    more: str = "",
    wire: Callable[[int], int] = int,
) -> list[ServerProcess]:
    """Start a hub and its leaf nodes, and wait until all are connected; the hub comes first.

    Args:
        fleet: Will stop them.
        contestant: What they are; its settings stand in the block `leafnodes` of the hub.
        count: Servers, the hub among them.
        more: In the configuration of each server.
        wire: As of `start_cluster`.
    """
    port, kind = free_port(), contestant.kind
    hub = fleet.start(kind=kind, config=hub_config(contestant, port, more))
    config = leaf_config(wire(port), more)
    leafs = [fleet.start(kind=kind, config=config) for _ in range(count - 1)]
    while hub.document("/leafz")["leafnodes"] < count - 1:
        time.sleep(_LOOK_EVERY_S)
    return [hub, *leafs]


def cpu_s(servers: Sequence[ServerProcess]) -> float:
    """Return the CPU time that servers have used so far."""
    return sum(sum(psutil.Process(server.pid).cpu_times()[:2]) for server in servers)


def compile_all() -> None:
    """Compile every module, as an installation does; else each start does it anew."""
    plugins = (*entry_points(group="framework"),)
    for package in {"framework", *(it.module.partition(".")[0] for it in plugins)}:
        compileall.compile_dir(import_module(package).__path__[0], quiet=1)
