# mypy: disable-error-code=empty-body
"""Hooks that the JetStream plugin offers: who gets the replicas of streams, and who keeps them.

A plugin implements them by their names, with `@hookimpl(optionalhook=True)` where it is of use
without JetStream as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.hookspecs import hookspec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from framework.spec import ServerContext
    from framework_jetstream.placement.records import PlacementPolicy
    from framework_jetstream.storage.records import StorageKind


@hookspec
def framework_jetstream_placement(server: ServerContext) -> PlacementPolicy | None:
    """Return what orders the servers that a stream's replicas may be placed on.

    Assembly. Called once for each server with JetStream. None: this plugin has nothing to say. A
    second plugin with a policy stops the start. Only the meta leader asks its policy, so all
    servers of a cluster should have the same one.

    nats-server's rules stay in force: the policy sees only servers that are suitable (cluster,
    tags, room, `max_ha_assets`), and of those that it returns no two with a `unique_tag` in
    common are taken.

    Args:
        server: Its configuration is complete.
    """


@hookspec
def framework_jetstream_storage(server: ServerContext) -> Iterable[StorageKind]:
    """Return storage kinds: who keeps finished segments of streams, beside file and memory.

    Assembly. Called once for each server with JetStream. Two kinds of one name stop the start.

    A stream asks for a kind in its metadata, `framework.storage: <name>`, when it is created, and
    keeps to it. A kind only keeps bytes, a segment of many messages at a time, on a thread of its
    own: what is acknowledged is in the server's log, and stays in the server's folder until the
    kind has given it back once. Counts, subjects and checksums are the server's. While a kind
    raises, hangs or gives back something else, its streams are offline; others are served.

    Args:
        server: Its configuration is complete.
    """
