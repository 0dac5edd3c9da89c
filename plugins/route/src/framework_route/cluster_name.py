"""Agree on the name of a cluster with dynamic name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

if TYPE_CHECKING:
    from framework.wire.info import RouteInfo


def agree_on_cluster(local: RouteInfo, cluster: str, *, is_dynamic: bool) -> RouteInfo | None:
    """Agree on one name with another server.

    A configured name wins over one that was made up, and of two made-up ones the greater. Once
    taken from a server that has it configured, a name is as firm here as it is there: else two
    clusters that meet could pull this server to and fro.

    Args:
        local: How this server introduces itself.
        cluster: The name that the other server says.
        is_dynamic: That name was made up.

    Returns:
        How this server introduces itself from now on; None when the two are of different clusters.

    Source: nats-server `route.go`, `processRouteConnect`.
    """
    if cluster == local.cluster:
        return replace(local, cluster_dynamic=local.cluster_dynamic and is_dynamic)
    if not local.cluster_dynamic or not cluster or (is_dynamic and cluster < local.cluster):
        return None
    return replace(local, cluster=cluster, cluster_dynamic=is_dynamic)
