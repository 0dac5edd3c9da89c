"""Whether a server shares its streams with other servers of its cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework_jetstream.meta.memory_file import is_founding_kept
from framework_jetstream.resources import LOG_FOLDER, store_folder

if TYPE_CHECKING:
    from framework.spec import ServerContext
    from framework_jetstream.config import JetStreamConfig


def is_clustered(server: ServerContext) -> bool:
    """Return whether a server is configured to have routes."""
    section = server.config.section("cluster")
    return section is not None and section.get("port") is not None


def shares_streams(server: ServerContext, config: JetStreamConfig) -> bool:
    """Return whether a server shares streams: as `replication` says, or else as nats-server does.

    That is where routes are configured, or gateways to other clusters, as a server has that is a
    cluster by itself. A store whose server had it alone stays so.

    Source: nats-server `jetstream_cluster.go`, `enableJetStreamClustering`, which wants routes.
    """
    if config.replication is not None:
        return config.replication and is_clustered(server)
    cluster = server.config.section("cluster") or {}
    gateway = server.config.section("gateway") or {}
    has_others = bool(cluster.get("routes")) or bool(gateway.get("gateways"))
    return is_clustered(server) and has_others and not began_alone(config)


def began_alone(config: JetStreamConfig) -> bool:
    """Return whether a store has streams that are one server's."""
    folder = store_folder(config)
    return (folder / LOG_FOLDER).exists() and not is_founding_kept(folder)
