"""Accounts, streams and consumers as `/jsz` shows them, some at a time: there may be thousands.

Source: nats-server `monitor.go`, `accountDetail`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

from msgspec import Struct

from framework.spec import ALL_TIERS, InQuery
from framework_jetstream.api.records import ClusterInfo, plain
from framework_jetstream.api.times import text_from_ns
from framework_jetstream.consumer.consumer import info_of
from framework_jetstream.counts import slices
from framework_jetstream.meta.assignments import Asset
from framework_jetstream.stream.shown import sources_of, state_from_numbers

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence

    from framework.spec import Rows, ServerContext
    from framework_jetstream.api.usage import ApiUsage
    from framework_jetstream.consumer.entry import ConsumerEntry
    from framework_jetstream.counts import Counts
    from framework_jetstream.engine.link import EngineAnswer
    from framework_jetstream.host import Host
    from framework_jetstream.meta.view import ClusterView
    from framework_jetstream.stream.book import StreamBook, StreamEntry
    from framework_jetstream.stream.census import ConsumerCount, StreamCount, Totals

_ASKED_AT_ONCE: Final = 64
"""Streams or consumers of which the engine is asked together."""
_SHOWN_A_TURN: Final = 8
_ACCOUNTS_SHOWN: Final = 1024
_UNLIMITED: Final = 2**64 - 1
"""What nats-server makes of -1 here."""


class JszOptions(Struct, frozen=True, kw_only=True):
    """Options of `/jsz`."""

    account: Annotated[str, InQuery("acc")] = ""
    accounts: bool = False
    streams: bool = False
    consumer: Annotated[bool, InQuery("consumers")] = False
    direct_consumer: Annotated[bool, InQuery("direct-consumers")] = False
    config: bool = False
    leader_only: Annotated[bool, InQuery("leader-only")] = False
    offset: int = 0
    limit: int = 0
    raft: bool = False
    stream_leader_only: Annotated[bool, InQuery("stream-leader-only")] = False

    @property
    def has_streams(self) -> bool:
        """Whether streams are shown."""
        return self.streams or self.consumer


class AccountDetails:
    """Makes `account_details`.

    Args:
        server: The server.
        host: The same, as streams know it.
        book: Its streams.
        usage: Counts of requests.
        counts: Says how they are.
        clock: Returns the Unix time in nanoseconds.
        view: Of the cluster; None: it shares nothing.
    """

    def __init__(
        self,
        *,
        server: ServerContext,
        host: Host,
        book: StreamBook,
        usage: ApiUsage,
        counts: Counts,
        clock: Callable[[], int],
        view: ClusterView | None,
    ) -> None:
        self._server = server
        self._host = host
        self._book = book
        self._usage = usage
        self._counts = counts
        self._clock = clock
        self._view = view

    def of_accounts(self, names: Sequence[str], options: JszOptions) -> Rows:
        """Return the details of accounts."""
        return self._server.documents(self._accounts(names, options))

    async def of_account(self, name: str, options: JszOptions) -> dict[str, Any]:
        """Return the details of one."""
        [totals] = await self._counts.totals((name,))
        return self._account(name, totals, options)

    async def _accounts(
        self, names: Sequence[str], options: JszOptions
    ) -> AsyncGenerator[Sequence[dict[str, Any]], None]:
        for some in slices(names, _SHOWN_A_TURN):
            totals = await self._counts.totals(some)
            yield [self._account(*it, options) for it in zip(some, totals, strict=True)]

    def _account(self, name: str, totals: Totals, options: JszOptions) -> dict[str, Any]:
        spec, tiers = self._server.accounts.get(name), self._host.limits(name) or {}
        limits = tiers.get(ALL_TIERS)
        detail: dict[str, Any] = {
            "name": (spec.name_tag if spec else "") or name,
            "id": name,
            "memory": totals.memory,
            "storage": totals.storage,
            "reserved_memory": limits.max_memory % (_UNLIMITED + 1) if limits else 0,
            "reserved_storage": limits.max_storage % (_UNLIMITED + 1) if limits else 0,
            "accounts": 0,
            "ha_assets": 0,
            "api": plain(self._usage.stats_of(name, level=0)),
        }
        entries = self._book.streams(name) if options.has_streams else ()
        if options.stream_leader_only:
            entries = [it for it in entries if it.is_leader]
        if entries:
            detail["stream_detail"] = self._server.documents(self._streams(entries, options))
        return detail

    async def _streams(
        self, entries: Sequence[StreamEntry], options: JszOptions
    ) -> AsyncGenerator[Sequence[dict[str, Any]], None]:
        for asked in slices(entries, _ASKED_AT_ONCE):
            for counts in slices(await self._counts.of_streams(asked), _SHOWN_A_TURN):
                yield [self._stream(it, options) for it in counts]

    def _stream(self, count: StreamCount, options: JszOptions) -> dict[str, Any]:
        entry = count.entry
        name = (entry.account, entry.config.name, "")
        cluster = self._cluster_of(name, count.group, entry.leads_since_ns)
        shown: dict[str, Any] = {
            "name": entry.config.name,
            "created": text_from_ns(entry.created_ns),
            "cluster": plain(cluster or ClusterInfo(leader=self._host.name)),
        }
        if differing := self._book.differing(entry.account, entry.config.name):
            shown["cluster"]["differing"] = list(differing)
        if options.config:
            shown["config"] = plain(entry.config)
        if count.state is not None:
            shown["state"] = plain(state_from_numbers(count.state.numbers, entry.consumer_count))
            shown |= {name: plain(it) for name, it in sources_of(entry, count.state).items() if it}
        if options.consumer and entry.consumers:
            consumers = [it for _, it in sorted(entry.consumers.items())]
            made = self._consumers(entry, consumers, options)
            shown["consumer_detail"] = self._server.documents(made)
        return {**shown, **self._groups_of(entry, options)} if options.raft else shown

    async def _consumers(
        self, stream: StreamEntry, entries: Sequence[ConsumerEntry], options: JszOptions
    ) -> AsyncGenerator[Sequence[dict[str, Any]], None]:
        for asked in slices(entries, _ASKED_AT_ONCE):
            for counts in slices(await self._counts.of_consumers(asked), _SHOWN_A_TURN):
                yield [self._consumer(stream, it, it.state, options) for it in counts if it.state]

    def _consumer(
        self, stream: StreamEntry, count: ConsumerCount, state: EngineAnswer, options: JszOptions
    ) -> dict[str, Any]:
        entry = count.entry
        info = info_of(entry, state, self._clock())
        name = (stream.account, stream.config.name, entry.config.name)
        info.cluster = self._cluster_of(name, count.group, entry.leads_since_ns)
        fields: dict[str, Any] = plain(info)
        if options.config:
            fields["config"] = plain(entry.config)
        else:
            del fields["config"]
        return fields

    def _cluster_of(
        self, name: tuple[str, str, str], group: EngineAnswer | None, since_ns: int
    ) -> ClusterInfo | None:
        """Return who has a stream or a consumer, as this server knows it."""
        told = (group.numbers, group.data) if group is not None else None
        found: ClusterInfo | None = self._host.cluster_of(name, told, since_ns)
        return found

    def _groups_of(self, entry: StreamEntry, options: JszOptions) -> dict[str, Any]:
        """Return names of Raft groups."""
        view = self._view
        if view is None:
            return {}
        stream = Asset(entry.account, entry.config.name)
        groups = [
            {"name": name, "raft_group": view.group_name(stream._replace(consumer=name))}
            for name in sorted(entry.consumers)
        ]
        also = {"consumer_raft_groups": groups} if options.consumer and groups else {}
        return {"stream_raft_group": view.group_name(stream), **also}


def shown_accounts(accounts: Sequence[str], options: JszOptions) -> Sequence[str]:
    """Return the accounts of which more is told."""
    if options.account in accounts:
        return [options.account]
    if not (options.accounts or (options.has_streams and not options.account)):
        return ()
    offset = max(options.offset, 0)
    limit = options.limit or _ACCOUNTS_SHOWN
    return accounts[offset : offset + limit] if limit > 0 else accounts
