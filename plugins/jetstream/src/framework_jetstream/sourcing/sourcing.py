"""The sources of one stream: they begin and end as its configuration says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.actors import STOP_ON_FAILURE
from framework.sublist.transform import parse_transform
from framework_jetstream.sourcing.consumer_request import Taker
from framework_jetstream.sourcing.entry import SourceEntry
from framework_jetstream.sourcing.names import index_name, mirror_consumer, source_consumer
from framework_jetstream.sourcing.source import Source

if TYPE_CHECKING:
    from framework.actors import Component
    from framework.sublist.transform import Program
    from framework_jetstream.api.records import StreamConfig, StreamSource
    from framework_jetstream.engine.link import EngineLink
    from framework_jetstream.exchange import Exchange
    from framework_jetstream.host import Host


class Sourcing:
    """Begins and ends the sources of a stream.

    Args:
        owner: The actor of the stream: sources are its children.
        account: Of the stream.
        number: By which the engine knows the stream.
        entries: Its sources, or the origin that it mirrors, in order; they are changed here.
        link: The way to the engine.
        exchange: Asks for consumers.
        host: The server.
    """

    def __init__(
        self,
        owner: Component,
        *,
        account: str,
        number: int,
        entries: list[SourceEntry],
        link: EngineLink,
        exchange: Exchange,
        host: Host,
    ) -> None:
        self._owner = owner
        self._account = account
        self._number = number
        self._entries = entries
        self._link = link
        self._exchange = exchange
        self._host = host
        self._is_mirror = self._is_direct = False

    def follow(self, config: StreamConfig) -> None:
        """Have the sources that a configuration has, and no others; those that stay go on."""
        is_mirror = config.mirror is not None
        wanted = [config.mirror] if config.mirror is not None else config.sources or []
        known = {index_name(it.config): it for it in self._entries}
        kept: list[SourceEntry] = []
        for source in wanted:
            entry = known.pop(index_name(source), None) if is_mirror == self._is_mirror else None
            kept.append(entry or self._begin(source, config))
        for entry in known.values():
            assert entry.source is not None
            entry.source.tell(Source.End())
        if is_mirror and self._is_mirror and config.mirror_direct != self._is_direct:
            for entry in kept:
                assert entry.source is not None
                entry.source.tell(Source.ServeDirect(config.mirror_direct))
        self._is_mirror, self._is_direct = is_mirror, config.mirror_direct
        self._entries[:] = kept

    def end(self) -> None:
        """Have no sources any more: another server has them."""
        for entry in self._entries:
            assert entry.source is not None
            entry.source.tell(Source.End())
        self._entries.clear()

    def _begin(self, source: StreamSource, config: StreamConfig) -> SourceEntry:
        is_mirror = config.mirror is not None
        domain = self._host.config.domain
        if is_mirror:
            consumer = mirror_consumer(config.name, self._account, domain)
        else:
            sources = config.sources or []
            consumer = source_consumer(config.name, self._account, domain, source, sources)
        entry = SourceEntry(number=self._link.next_source(), config=source)
        entry.source = self._owner.spawn(
            Source,
            supervision=STOP_ON_FAILURE,
            entry=entry,
            taker=Taker(
                stream=config.name,
                account=self._account,
                domain=domain,
                consumer=consumer,
                is_mirror=is_mirror,
            ),
            account=self._host.account_number(self._account),
            stream_number=self._number,
            programs=_programs(source),
            link=self._link,
            exchange=self._exchange,
            wants_direct=config.mirror_direct,
        )
        return entry


def _programs(source: StreamSource) -> list[Program]:
    return [parse_transform(it.src, it.dest) for it in source.subject_transforms or () if it.dest]
