"""How many servers a configuration says there are that may have one meta group."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from framework.topology import ServerConfig

_SERVERS_MIN: Final = 2
"""A cluster of fewer has no majority that survives anything."""
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1", "0.0.0.0", "::")  # noqa: S104 - compared


def server_count(server: ServerConfig) -> int:
    """Return how many servers the configuration of one says there are.

    This one, those of its routes, and those of gateways to other clusters: a supercluster has one
    meta group. One fewer than there are could let two halves found a group each.

    Source: nats-server `jetstream_cluster.go`, `bootstrapRaftNode`, which counts routes alone.
    """
    cluster: Any = server.section("cluster") or {}
    routes = [urlsplit(it) for it in cluster.get("routes") or ()]
    names = {*_LOOPBACK, cluster.get("host"), socket.gethostname()}
    names.add(str(cluster.get("advertise") or "").rpartition(":")[0])
    others = [it for it in routes if it.port != cluster.get("port") or it.hostname not in names]
    remote = sum(len(it["urls"]) + bool(it.get("url")) for it in remote_gateways(server))
    return max(_SERVERS_MIN, len(others) + 1 + remote)


def remote_gateways(server: ServerConfig) -> Sequence[Mapping[str, Any]]:
    """Return the gateways of a server to clusters other than its own."""
    gateway: Any = server.section("gateway") or {}
    return [it for it in gateway.get("gateways") or () if it["name"] != gateway.get("name")]
