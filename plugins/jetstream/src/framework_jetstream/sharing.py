"""Whether a server shares its streams with other servers of its cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.topology import TopologyError
from framework_jetstream.config import JetStreamConfig
from framework_jetstream.meta.memory_file import is_founding_kept
from framework_jetstream.meta.server_count import remote_gateways, server_count
from framework_jetstream.resources import LOG_FOLDER, store_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from framework.topology import ServerConfig, ServerPlan, Topology


def is_clustered(server: ServerConfig) -> bool:
    """Return whether a server is configured to have routes."""
    section = server.section("cluster")
    return section is not None and section.get("port") is not None


def shares_streams(server: ServerConfig, config: JetStreamConfig) -> bool:
    """Return whether a server shares streams: as `replication` says, or else as nats-server does.

    That is where routes are configured, or gateways to other clusters, as a server has that is a
    cluster by itself. A store whose server had it alone stays so.

    Source: nats-server `jetstream_cluster.go`, `enableJetStreamClustering`, which wants routes.
    """
    if config.replication is not None:
        return config.replication and is_clustered(server)
    cluster = server.section("cluster") or {}
    has_others = bool(cluster.get("routes")) or bool(remote_gateways(server))
    return is_clustered(server) and has_others and not began_alone(config)


def began_alone(config: JetStreamConfig) -> bool:
    """Return whether a store has streams that are one server's."""
    folder = store_folder(config)
    return (folder / LOG_FOLDER).exists() and not is_founding_kept(folder)


def lonely_servers(topology: Topology) -> Iterator[TopologyError]:
    """Yield which servers would wait for ever for a majority that shares streams with them.

    Only where there are others, and routes and gateways are those that follow from the topology:
    what a file says may lead to servers that are not in it, and share streams too.
    """
    for plan in topology.servers:
        config = plan.config.section_as(JetStreamConfig)
        if config is None or not shares_streams(plan.config, config):
            continue
        count, group = server_count(plan.config), _group_of(plan, topology)
        sharing = sum(_shares(it.config) for it in group)
        is_known = len(group) > 1 and not any(_says_others(it.config) for it in group)
        if sharing > count // 2 or not is_known:
            continue
        yield TopologyError(
            plan.config.source("jetstream.store_dir"),
            f"{plan.name} would wait for a majority of {count} servers, of which {sharing} share"
            " streams",
            "give others `jetstream` too, or set `jetstream.replication = false` to have the"
            " streams alone",
        )


def _group_of(plan: ServerPlan, topology: Topology) -> Sequence[ServerPlan]:
    """Return the servers of a topology that have one meta group with a server, or would have."""
    if remote_gateways(plan.config):
        return [it for it in topology.servers if it.config.section("gateway")]
    return topology.clusters[plan.cluster]


def _says_others(server: ServerConfig) -> bool:
    return any(server.source(it).is_written for it in ("cluster.routes", "gateway.gateways"))


def _shares(server: ServerConfig) -> bool:
    config = server.section_as(JetStreamConfig)
    return config is not None and shares_streams(server, config)
