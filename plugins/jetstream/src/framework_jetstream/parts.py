"""The parts of JetStream in one server, wired together."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from framework.wire.event_ids import EventIds
from framework_jetstream.advisories import Advisories
from framework_jetstream.api.usage import ApiUsage
from framework_jetstream.engine.link import EngineLink
from framework_jetstream.host import Host
from framework_jetstream.jet_stream import JetStream
from framework_jetstream.monitor import Monitor
from framework_jetstream.resources import settled_config
from framework_jetstream.stream.book import StreamBook

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from framework.spec import ServerContext
    from framework_jetstream.config import JetStreamConfig


class Parts(Struct, frozen=True, kw_only=True):
    """What hooks need of them."""

    link: EngineLink
    host: Host
    book: StreamBook
    usage: ApiUsage
    advisories: Advisories
    monitor: Monitor

    def component(self) -> tuple[type[JetStream], Mapping[str, Any]]:
        """Return the actor that has the streams, and its arguments."""
        return JetStream, {
            "link": self.link,
            "book": self.book,
            "usage": self.usage,
            "advisories": self.advisories,
            "host": self.host,
        }


def assemble(server: ServerContext, config: JetStreamConfig, clock: Callable[[], int]) -> Parts:
    """Make the parts of a server's JetStream; nothing runs yet."""
    host = Host(
        name=server.name,
        config=settled_config(config),
        account_number=server.account_number,
        limits=server.accounts.jetstream_limits,
        system_account=lambda: server.accounts.system_account,
    )

    def publish(account: str, subject: str, payload: bytes) -> None:
        message = (subject.encode(), b"", b"", payload)
        server.plane.publish(server.account_number(account), [message])

    book, usage = StreamBook(), ApiUsage()
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
        monitor=Monitor(server=server, host=host, book=book, usage=usage, clock=clock),
    )
