"""The parts of JetStream in one server, wired together."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from framework.wire.event_ids import EventIds
from framework_jetstream.advisories import AUDIT, Advisories
from framework_jetstream.api.tracking import ApiTracking
from framework_jetstream.api.usage import ApiUsage
from framework_jetstream.audience import Audience
from framework_jetstream.engine.link import EngineLink
from framework_jetstream.exchange import BYTES_MAX as EXCHANGE_BYTES
from framework_jetstream.exchange import Exchange
from framework_jetstream.exports.places import Places
from framework_jetstream.host import Host
from framework_jetstream.jet_stream import JetStream
from framework_jetstream.listening import Listening
from framework_jetstream.monitor import Monitor
from framework_jetstream.placement.policy import placement_policy
from framework_jetstream.resources import settled_config
from framework_jetstream.rivals import Rivals
from framework_jetstream.sharing import began_alone, is_clustered, shares_streams
from framework_jetstream.storage.kinds import storage_kinds
from framework_jetstream.storage.storage import Storage
from framework_jetstream.stream.book import StreamBook

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from framework.spec import ServerContext
    from framework_jetstream.cluster.wiring import ClusterParts
    from framework_jetstream.config import JetStreamConfig
    from framework_jetstream.placement.records import PlacementPolicy


class Parts(Struct, frozen=True, kw_only=True):
    """What hooks need of them."""

    link: EngineLink
    host: Host
    book: StreamBook
    usage: ApiUsage
    advisories: Advisories
    tracking: ApiTracking
    exchange: Exchange
    monitor: Monitor
    rivals: Rivals
    storage: Storage
    placement: PlacementPolicy | None
    """Of a plugin."""
    cluster: ClusterParts | None
    """None: streams are this server's alone."""

    def component(self) -> tuple[type[JetStream], Mapping[str, Any]]:
        """Return the actor that has the streams, and its arguments."""
        return JetStream, {
            "link": self.link,
            "book": self.book,
            "usage": self.usage,
            "advisories": self.advisories,
            "exchange": self.exchange,
            "places": Places(),
            "host": self.host,
            "storage": self.storage,
        }


def _publisher(server: ServerContext) -> Callable[[str, str, bytes], None]:
    def publish(account: str, subject: str, payload: bytes) -> None:
        message = (subject.encode(), b"", b"", payload)
        server.plane.publish(server.account_number(account), [message])

    return publish


def _host(
    server: ServerContext, config: JetStreamConfig, publish: Callable[[str, str, bytes], None]
) -> Host:
    return Host(
        name=server.name,
        server_id=server.server_id,
        config=settled_config(config),
        account_number=server.account_number,
        limits=server.accounts.jetstream_limits,
        system_account=lambda: server.accounts.system_account,
        listens=Listening(server).listens,
        max_payload=lambda: cast("int", server.config.values["max_payload"]),
        answer=lambda subject, text: publish(server.accounts.system_account, subject, text),
        report=lambda what: server.log.warning("{detail}", detail=what),
    )


def _shares(server: ServerContext, config: JetStreamConfig) -> bool:
    """Return whether a server has streams together with others."""
    shares = shares_streams(server.config, config)
    if config.replication and not shares:
        server.log.warning("`replication: true` has no effect: the server is in no cluster")
    if config.replication is None and is_clustered(server.config) and began_alone(config):
        server.log.info(
            "Streams are this server's alone, as its store was begun; a server with an empty"
            " `store_dir` and with `routes` shares them with its cluster"
        )
    return shares


def _advisories(
    server: ServerContext,
    config: JetStreamConfig,
    publish: Callable[[str, str, bytes], None],
    clock: Callable[[], int],
    exchange: Exchange,
) -> Advisories:
    return Advisories(
        publish,
        server=server.name,
        domain=config.domain,
        ids=EventIds(random.SystemRandom()),
        clock=clock,
        is_audited=Audience(exchange.watch, server.account_number, AUDIT).is_there,
    )


def _rivals(
    server: ServerContext,
    config: JetStreamConfig,
    clock: Callable[[], int],
    is_founded: Callable[[], bool] | None,
) -> Rivals:
    return Rivals(
        server_id=server.server_id,
        domain=config.domain,
        started_ns=clock(),
        report=lambda problem: server.log.error("{detail}", detail=problem),
        cluster=lambda: server.cluster_name,
        is_founded=is_founded,
    )


def assemble(server: ServerContext, config: JetStreamConfig, clock: Callable[[], int]) -> Parts:
    """Make the parts of a server's JetStream; nothing runs yet."""
    publish = _publisher(server)
    host, shares = _host(server, config, publish), _shares(server, config)
    book, usage = StreamBook(), ApiUsage()
    cluster: ClusterParts | None = None
    is_founded = (lambda: cluster is not None and cluster.view.is_founded) if shares else None
    rivals = _rivals(server, config, clock, is_founded)
    storage = Storage(
        storage_kinds(server),
        answer_s=config.storage_timeout_s,
        report=lambda problem: server.log.error("{detail}", detail=problem),
    )
    link, placement = EngineLink(config.domain), placement_policy(server)
    exchange = Exchange(
        lambda: server.open_port(bytes_max=EXCHANGE_BYTES, said_bytes_max=EXCHANGE_BYTES)
    )
    advisories = _advisories(server, config, publish, clock, exchange)
    tracking = ApiTracking(usage, advisories, host)
    if shares:
        from framework_jetstream.cluster.wiring import (  # noqa: PLC0415 - who shares streams
            cluster_parts,
        )

        cluster = cluster_parts(
            server,
            host=host,
            link=link,
            exchange=exchange,
            book=book,
            usage=usage,
            advisories=advisories,
            tracking=tracking,
            placement=placement,
            clock=clock,
        )
        cluster.join(host)
    return Parts(
        link=link,
        host=host,
        book=book,
        usage=usage,
        advisories=advisories,
        tracking=tracking,
        exchange=exchange,
        monitor=Monitor(
            server=server,
            host=host,
            book=book,
            usage=usage,
            rivals=rivals,
            clock=clock,
            view=cluster.view if cluster else None,
        ),
        rivals=rivals,
        storage=storage,
        placement=placement,
        cluster=cluster,
    )
