"""The meta group of a server, put together from its configuration."""

from __future__ import annotations

import secrets
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct

from framework.wire.event_ids import DIGITS
from framework.wire.version import JETSTREAM_API_LEVEL, NATS_VERSION
from framework_jetstream.api.records import StreamConfig
from framework_jetstream.cluster.gathering import is_of_others
from framework_jetstream.cluster.meta_group import GROUP_NAME, META_GROUP, MetaGroup
from framework_jetstream.cluster.usage import UsageService
from framework_jetstream.jet_stream import JETSTREAM
from framework_jetstream.log.record import Kind
from framework_jetstream.meta.assignments import Asset, ServerRecord
from framework_jetstream.meta.choices import Rules
from framework_jetstream.meta.entries import VERSION
from framework_jetstream.meta.letters import RAFT, Moved
from framework_jetstream.meta.machine import MetaMachine
from framework_jetstream.meta.memory_file import MemoryFile
from framework_jetstream.meta.peers import number_of, peer_of
from framework_jetstream.meta.server_count import server_count
from framework_jetstream.meta.view import ClusterView
from framework_jetstream.placement.records import PlacementRequest
from framework_jetstream.raft.records import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from framework.spec import Port, ServerContext
    from framework_jetstream.advisories import Advisories
    from framework_jetstream.api.asker import Asker
    from framework_jetstream.api.saved import Restored as ReadBack
    from framework_jetstream.api.tracking import ApiTracking
    from framework_jetstream.api.usage import ApiUsage
    from framework_jetstream.engine.link import EngineLink
    from framework_jetstream.exchange import Exchange
    from framework_jetstream.host import Host
    from framework_jetstream.meta.assignments import StreamAssignment
    from framework_jetstream.meta.letters import Restored
    from framework_jetstream.placement.records import PlacementPolicy
    from framework_jetstream.stream.book import StreamBook

_NAME_CHARS: Final = 8
_SETTINGS: Final = Settings(
    election_ticks=20, heartbeat_ticks=3, lease_ticks=15, takes=Kind.COMPRESSED
)
"""Ticks are of 25 ms: elections begin after half a second to one. A machine that is busy with other
things lets its engine wait for longer than the 300 ms that the library has by default."""
_PORT_BYTES: Final = 64 * 1024 * 1024
"""What other servers may make wait here, and what waits for them; more is lost, and said again."""


class ClusterParts(Struct, kw_only=True):
    """What a server has beside its streams when it shares them with others."""

    server: ServerContext
    view: ClusterView
    arguments: dict[str, Any]
    """Of the actor `MetaGroup`."""
    file: MemoryFile
    port: Port | None = None

    def component(self, _: ServerContext) -> tuple[type[MetaGroup], Mapping[str, Any]]:
        """Return the actor, and its arguments."""
        return MetaGroup, self.arguments

    def join(self, host: Host) -> None:
        """Let actors of streams and consumers know of the cluster."""
        view = self.view
        host.cluster_of, host.peer, host.moved = view.describe, view.peer, self.moved
        host.assigned, host.is_current = view.assigned, view.is_current
        host.server_name = view.server_name
        host.restored, host.consumer_count = self.restored, view.consumer_count

    def begin_store(self) -> None:
        """Let the store say that it belongs to a cluster; before anything else is in it.

        Raises:
            StoreError: It can't.
        """
        self.file.begin()

    def use_port(self, link: EngineLink) -> None:
        """Let the engine hear of other servers; before anything is restored."""
        server = self.server
        self.port = server.open_port(bytes_max=_PORT_BYTES, said_bytes_max=_PORT_BYTES)
        link.use_replicas(
            self.port,
            server=number_of(self.view.peer),
            account=server.account_number(server.accounts.system_account),
            prefix=RAFT.encode(),
            seed=secrets.randbits(63),
            settings=_SETTINGS,
        )

    def moved(self, name: tuple[str, str, str], created_ns: int, members: tuple[str, ...]) -> None:
        """Let the meta leader know that an asset has the members that it is to have."""
        moved = Moved(Asset(*name), created_ns, members)
        self.server.component(META_GROUP).tell(MetaGroup.Report(moved))

    def restored(self, restored: Restored) -> None:
        """Let the meta leader know that all of an archive is here."""
        self.server.component(META_GROUP).tell(MetaGroup.Offer(restored))

    def is_gathered_elsewhere(self, asker: Asker, tokens: tuple[str, ...]) -> bool:
        """Return whether a request gathers what servers say that are there, and this one is not."""
        return is_of_others(self.view, self.arguments["book"], asker, tokens)

    def leave(self) -> None:
        """Let other servers know that this one is about to stop."""
        self.server.component(META_GROUP).tell(MetaGroup.Leave())

    def begin(self, link: EngineLink, restored: ReadBack) -> None:
        """Let the meta group go on; the engine runs.

        Args:
            link: The way to the engine.
            restored: What was read from the log.

        Raises:
            StoreError: What was saved of its founding can't be read.
        """
        self.file.read()
        group = self.server.component(META_GROUP)
        link.listen_to_control_groups(group)
        group.tell(
            MetaGroup.Begin(
                self.file, has_group=GROUP_NAME in restored.groups, may_lack=restored.may_lack
            )
        )


def cluster_parts(
    server: ServerContext,
    *,
    host: Host,
    link: EngineLink,
    exchange: Exchange,
    book: StreamBook,
    usage: ApiUsage,
    advisories: Advisories,
    tracking: ApiTracking,
    placement: PlacementPolicy | None,
    clock: Callable[[], int],
) -> ClusterParts:
    """Return what a server needs to share streams; nothing runs yet."""
    peer, start = peer_of(server.name), clock()
    view = ClusterView(
        peer=peer,
        cluster=lambda: server.cluster_name,
        system_account=lambda: server.accounts.system_account,
        now_ns=time.monotonic_ns,
        machine=MetaMachine(peer, start),
    )
    service = UsageService(
        exchange=exchange,
        peer=peer,
        usage=usage,
        tiers_of=host.limits,
        streams_of=book.streams,
        tell=lambda message: server.component(JETSTREAM).tell(message),
    )
    return ClusterParts(
        server=server,
        view=view,
        file=MemoryFile(Path(host.config.store_dir), peer),
        arguments={
            "view": view,
            "link": link,
            "exchange": exchange,
            "host": host,
            "describe": partial(_record_of, server, host, peer),
            "server_count": server_count(server.config),
            "rules": Rules(
                unique_tag=host.config.unique_tag,
                ha_assets_max=host.config.limits.max_ha_assets,
                policy=placement,
            ),
            "request_of": placement_request,
            "draw": lambda: "".join(secrets.choice(DIGITS) for _ in range(_NAME_CHARS)),
            "book": book,
            "usage": service,
            "advisories": advisories,
            "tracking": tracking,
            "forward": lambda request: server.component(JETSTREAM).tell(request),
            "perform": lambda effect: server.component(JETSTREAM).tell(effect),
            "report": lambda what: server.log.warning("{detail}", detail=what),
            "clock": clock,
            "start": start,
        },
    )


def _record_of(server: ServerContext, host: Host, peer: str) -> ServerRecord:
    tags: Any = server.config.values.get("server_tags") or ()
    return ServerRecord(
        peer=peer,
        name=server.name,
        cluster=server.cluster_name,
        domain=host.config.domain,
        tags=tuple(tags),
        version=NATS_VERSION,
        level=JETSTREAM_API_LEVEL,
        machine=VERSION,
        memory_bytes=host.config.max_memory,
        storage_bytes=host.config.max_file,
    )


def placement_request(stream: StreamAssignment) -> PlacementRequest:
    """Return what a stream asks of placement."""
    config = msgspec.json.decode(stream.config, type=StreamConfig)
    return PlacementRequest(
        account=stream.account,
        stream=stream.name,
        cluster="",
        replicas=max(config.num_replicas, 1),
        tags=tuple((config.placement.tags if config.placement else None) or ()),
        storage="memory" if config.storage == "memory" else "file",
        max_bytes=config.max_bytes,
        metadata=config.metadata or {},
    )
