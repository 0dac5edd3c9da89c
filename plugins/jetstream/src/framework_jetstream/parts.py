"""The parts of JetStream in one server, wired together."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from framework.wire.event_ids import EventIds
from framework_jetstream.advisories import Advisories
from framework_jetstream.api.usage import ApiUsage
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
from framework_jetstream.storage.kinds import storage_kinds
from framework_jetstream.storage.storage import Storage
from framework_jetstream.stream.book import StreamBook

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from framework.spec import ServerContext
    from framework_jetstream.config import JetStreamConfig
    from framework_jetstream.placement.records import PlacementPolicy


class Parts(Struct, frozen=True, kw_only=True):
    """What hooks need of them."""

    link: EngineLink
    host: Host
    book: StreamBook
    usage: ApiUsage
    advisories: Advisories
    exchange: Exchange
    monitor: Monitor
    rivals: Rivals
    storage: Storage
    placement: PlacementPolicy | None
    """Of a plugin."""

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


def assemble(server: ServerContext, config: JetStreamConfig, clock: Callable[[], int]) -> Parts:
    """Make the parts of a server's JetStream; nothing runs yet."""
    host = Host(
        name=server.name,
        server_id=server.server_id,
        config=settled_config(config),
        account_number=server.account_number,
        limits=server.accounts.jetstream_limits,
        system_account=lambda: server.accounts.system_account,
        listens=Listening(server).listens,
        max_payload=lambda: cast("int", server.config.values["max_payload"]),
    )

    def publish(account: str, subject: str, payload: bytes) -> None:
        message = (subject.encode(), b"", b"", payload)
        server.plane.publish(server.account_number(account), [message])

    book, usage = StreamBook(), ApiUsage()
    rivals = Rivals(
        server_id=server.server_id,
        domain=config.domain,
        started_ns=clock(),
        report=lambda problem: server.log.error("{detail}", detail=problem),
    )
    storage = Storage(
        storage_kinds(server),
        answer_s=config.storage_timeout_s,
        report=lambda problem: server.log.error("{detail}", detail=problem),
    )
    return Parts(
        link=EngineLink(config.domain),
        host=host,
        book=book,
        usage=usage,
        advisories=Advisories(
            publish,
            server=server.name,
            domain=config.domain,
            ids=EventIds(random.SystemRandom()),
            clock=clock,
        ),
        exchange=Exchange(
            lambda: server.open_port(bytes_max=EXCHANGE_BYTES, said_bytes_max=EXCHANGE_BYTES)
        ),
        monitor=Monitor(
            server=server, host=host, book=book, usage=usage, rivals=rivals, clock=clock
        ),
        rivals=rivals,
        storage=storage,
        placement=placement_policy(server),
    )
