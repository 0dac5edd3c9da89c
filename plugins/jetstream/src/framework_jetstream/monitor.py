"""What monitoring shows of JetStream: `/jsz`, `/healthz`, and fields in `/varz` and STATSZ.

Source: nats-server `monitor.go`, `Jsz`, `accountDetail`, `healthz`; `events.go`, `sendStatsz`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
from msgspec import Struct

from framework.actors import Reply
from framework.errors import BadQuery, NoAnswer
from framework.spec import ALL_TIERS, HealthProblem, InQuery
from framework.spec.formats import time_text
from framework_jetstream.api.records import ClusterInfo, plain
from framework_jetstream.api.saved import Damaged, words_of_loss
from framework_jetstream.api.times import text_from_ns
from framework_jetstream.cluster.health import assigned_problems, meta_problem
from framework_jetstream.cluster.raftz import RaftzOptions, raft_groups
from framework_jetstream.consumer.consumer import info_of
from framework_jetstream.jet_stream import JETSTREAM, JetStream
from framework_jetstream.meta.assignments import Asset
from framework_jetstream.store.folder import name_of
from framework_jetstream.store.offline import SegmentReason
from framework_jetstream.stream.shown import sources_of, state_from_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from framework.spec import HealthQuestion, ServerContext
    from framework_jetstream.api.saved import Offline
    from framework_jetstream.api.usage import ApiUsage
    from framework_jetstream.consumer.entry import ConsumerEntry
    from framework_jetstream.engine.link import EngineAnswer, ScrubPass
    from framework_jetstream.host import Host
    from framework_jetstream.meta.view import ClusterView
    from framework_jetstream.rivals import Rivals
    from framework_jetstream.stream.book import StreamBook
    from framework_jetstream.stream.census import StreamCount, Totals

_ACCOUNTS_SHOWN: Final = 1024
_DAMAGE_MAX: Final = 10_000
"""Of which `/healthz` tells; the log has all of it."""
_UNLIMITED: Final = 2**64 - 1
"""What nats-server makes of -1 here."""
_SECOND_NS: Final = 1_000_000_000
_SYNC_NS: Final = 120_000_000_000
"""As nats-server has it beside `sync_always`: nothing waits so long."""


def _shown_pass(it: ScrubPass) -> dict[str, Any]:
    """Return how segments were read again, as `/jsz` has it."""
    ended = {"ended": text_from_ns(it.ended_ns)} if it.ended_ns else {}
    return {
        "began": text_from_ns(it.began_ns),
        **ended,
        "bytes": it.bytes,
        "files": it.files,
        "damaged": it.damages,
        "failed": it.errors,
    }


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


class Monitor:
    """Makes the documents of one server.

    Args:
        server: The server.
        host: The same, as streams know it.
        book: Its streams.
        usage: Counts of requests.
        rivals: Other servers with JetStream.
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
        rivals: Rivals,
        clock: Callable[[], int],
        view: ClusterView | None = None,
    ) -> None:
        self._server = server
        self._host = host
        self._book = book
        self._usage = usage
        self._rivals = rivals
        self._clock = clock
        self._view = view
        self.damage: list[HealthProblem] = []
        """What was found damaged when the streams were read."""
        self.trouble: Callable[[], str] = str
        """Says why nothing can be stored now."""
        self._scrubs: Callable[[], Sequence[ScrubPass]] = tuple
        self._failing: Mapping[str, str] = {}

    # -- /jsz ------------------------------------------------------------------------------------

    async def answer_jsz(self, options: JszOptions) -> dict[str, Any]:
        """Return the document of `/jsz`.

        Raises:
            NoAnswer: Only who leads the meta group is to answer.
        """
        if options.leader_only and self._view is not None and not self._view.state.is_leader:
            raise NoAnswer("skip request: not leader")
        counts = await self._count(options)
        accounts, entries = self._accounts(), list(self._book.all())
        shown = _shown(accounts, options)
        totals, *of_shown = await self._add_up(None, *shown)
        document = {
            **self._stats(totals),
            "server_id": self._server.server_id,
            "now": time_text(self._clock()),
            "config": self._config(),
            "limits": msgspec.to_builtins(self._host.config.limits),
            "streams": len(entries),
        }
        if self._view is not None and (meta := self._view.meta_cluster()) is not None:
            document["meta_cluster"] = plain(meta)
        if faulty := self._book.faulty():
            document["faulty"] = faulty
        if scrubs := [_shown_pass(it) for it in self._scrubs()]:
            document["scrubs"] = scrubs
        consumers = [it for entry in entries for it in entry.consumers.values()]
        led = sum(it.is_leader for it in entries), sum(it.is_leader for it in consumers)
        if options.raft and led[0]:
            document["streams_leader"] = led[0]
        document["consumers"] = len(consumers)
        if options.raft and led[1]:
            document["consumers_leader"] = led[1]
        document["messages"] = totals.messages
        document["bytes"] = totals.memory + totals.storage
        if shown:
            told = zip(shown, of_shown, strict=True)
            document["account_details"] = [self._detail(*it, counts, options) for it in told]
        return {**document, "total": len(accounts)}

    async def answer_account_jsz(self, options: JszOptions) -> dict[str, Any]:
        """Return one account.

        Raises:
            BadQuery: It is not there, or may have no streams.
        """
        name = options.account
        if self._server.accounts.get(name) is None:
            raise BadQuery(f'account "{name}" not found')
        if self._host.limits(name) is None:
            raise BadQuery(f'account "{name}" not jetstream enabled')
        [totals] = await self._add_up(name)
        return self._detail(name, totals, await self._count(options), options)

    async def _count(self, options: JszOptions) -> list[StreamCount]:
        """Return the streams of this server, if they are to be shown."""
        if not (options.streams or options.consumer):
            return []
        consumers_of = options.account if options.consumer else None
        return await self._describe(consumers_of)

    async def _describe(self, consumers_of: str | None) -> list[StreamCount]:
        """Return the streams of this server, with consumers as in `Census.take`."""
        reply = Reply[list["StreamCount"]]()
        self._server.component(JETSTREAM).tell(JetStream.Describe(reply, consumers_of))
        return await reply

    async def _add_up(self, *accounts: str | None) -> list[Totals]:
        """Return what the streams of accounts have; None: all of this server."""
        reply = Reply[list["Totals"]]()
        self._server.component(JETSTREAM).tell(JetStream.AddUp(reply, accounts))
        return await reply

    def _accounts(self) -> list[str]:
        """Return the accounts that may have streams, by name."""
        names = self._server.accounts.names()
        return sorted(name for name in names if self._host.limits(name) is not None)

    def _detail(
        self, name: str, totals: Totals, counts: Sequence[StreamCount], options: JszOptions
    ) -> dict[str, Any]:
        spec, tiers = self._server.accounts.get(name), self._host.limits(name) or {}
        mine = [it for it in counts if it.entry.account == name]
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
        if options.stream_leader_only:
            mine = [it for it in mine if it.entry.is_leader]
        if (options.streams or options.consumer) and mine:
            detail["stream_detail"] = [self._stream(it, options) for it in mine]
        return detail

    def _stream(self, count: StreamCount, options: JszOptions) -> dict[str, Any]:
        entry, now_ns = count.entry, self._clock()
        shown: dict[str, Any] = {
            "name": entry.config.name,
            "created": text_from_ns(entry.created_ns),
            "cluster": plain(self._cluster_of(count)),
        }
        if options.config:
            shown["config"] = plain(entry.config)
        if count.state is not None:
            shown["state"] = plain(state_from_numbers(count.state.numbers, entry.consumer_count))
            shown |= {name: plain(it) for name, it in sources_of(entry, count.state).items() if it}
        consumers = [self._consumer(count, it, state, now_ns) for it, state in count.consumers]
        for consumer, (it, _) in zip(consumers, count.consumers, strict=True):
            if options.config:
                consumer["config"] = plain(it.config)
            else:
                del consumer["config"]
        if consumers:
            shown["consumer_detail"] = consumers
        return {**shown, **self._groups_of(count, options)} if options.raft else shown

    def _cluster_of(self, count: StreamCount) -> ClusterInfo:
        """Return who has a stream, as this server knows it."""
        entry, group = count.entry, count.group
        name = (entry.account, entry.config.name, "")
        told = (group.numbers, group.data) if group is not None else None
        found = self._host.cluster_of(name, told, entry.leads_since_ns)
        return found or ClusterInfo(leader=self._host.name)

    def _consumer(
        self, count: StreamCount, entry: ConsumerEntry, state: EngineAnswer, now_ns: int
    ) -> dict[str, Any]:
        info = info_of(entry, state, now_ns)
        group = count.consumer_groups.get(entry.config.name)
        name = (count.entry.account, count.entry.config.name, entry.config.name)
        told = (group.numbers, group.data) if group is not None else None
        info.cluster = self._host.cluster_of(name, told, entry.leads_since_ns)
        fields: dict[str, Any] = plain(info)
        return fields

    def _groups_of(self, count: StreamCount, options: JszOptions) -> dict[str, Any]:
        """Return names of Raft groups."""
        view = self._view
        if view is None:
            return {}
        stream = Asset(count.entry.account, count.entry.config.name)
        groups = [
            {"name": it.config.name, "raft_group": view.group_name(stream._replace(consumer=name))}
            for it, _ in count.consumers
            for name in [it.config.name]
        ]
        also = {"consumer_raft_groups": groups} if options.consumer and groups else {}
        return {"stream_raft_group": view.group_name(stream), **also}

    # -- /raftz ----------------------------------------------------------------------------------

    async def answer_raftz(self, options: RaftzOptions) -> dict[str, Any]:
        """Return the document of `/raftz`."""
        assert self._view is not None
        system_account = self._host.system_account()
        return raft_groups(self._view, await self._describe(""), system_account, options)

    # -- /varz and STATSZ ------------------------------------------------------------------------

    def _stats(self, totals: Totals) -> dict[str, Any]:
        return {
            "memory": totals.memory,
            "storage": totals.storage,
            "reserved_memory": self._book.reserved.bytes_of("memory"),
            "reserved_storage": self._book.reserved.bytes_of("file"),
            "accounts": len(self._accounts()),
            "ha_assets": self._view.ha_assets if self._view is not None else 0,
            "api": plain(self._usage.stats()),
        }

    def _config(self, *, has_folder: bool = True) -> dict[str, Any]:
        config = self._host.config
        return {
            "max_memory": config.max_memory,
            "max_storage": config.max_file,
            **({"store_dir": config.store_dir} if has_folder else {}),
            "sync_interval": round(config.sync_interval_s * _SECOND_NS) or _SYNC_NS,
            **({} if config.sync_interval_s else {"sync_always": True}),
            **({"domain": config.domain} if config.domain else {}),
            "compress_ok": True,
            **({"unique_tag": config.unique_tag} if config.unique_tag else {}),
            **({"strict": True} if config.strict else {}),
        }

    async def varz_fields(self) -> dict[str, Any]:
        """Return `jetstream` and `feature_flags` of `/varz`."""
        fields = await self._fields(has_folder=True)
        return {**fields, "feature_flags": dict(self._host.config.feature_flags)}

    async def statsz_fields(self) -> dict[str, Any]:
        """Return `jetstream` of STATSZ, which goes to other servers too."""
        return await self._fields(has_folder=False)

    async def _fields(self, *, has_folder: bool) -> dict[str, Any]:
        [totals] = await self._add_up(None)
        limits = msgspec.to_builtins(self._host.config.limits)
        config = self._config(has_folder=has_folder)
        meta = self._view.meta_cluster() if self._view is not None else None
        also = {"meta": plain(meta)} if meta is not None else {}
        stats = self._stats(totals)
        return {"jetstream": {"config": config, "stats": stats, **also, "limits": limits}}

    # -- /healthz --------------------------------------------------------------------------------

    def watch(
        self,
        trouble: Callable[[], str],
        damaged: Sequence[Damaged],
        scrubs: Callable[[], Sequence[ScrubPass]],
    ) -> None:
        """Say from now on how the files are.

        Args:
            trouble: Returns why nothing can be stored now; empty: it can.
            damaged: What could not be read.
            scrubs: Returns how segments were read again, the last pass first.
        """
        self.trouble = trouble
        self._scrubs = scrubs
        for it in damaged:
            self._report(it)

    def watch_storage(self, problems: Mapping[str, str], offline: Sequence[Offline]) -> None:
        """Say from now on how storage kinds are.

        Args:
            problems: Of those that fail, by name; is changed by whoever sees to them.
            offline: Streams that could not be read from them.
        """
        self._failing = problems
        for it in offline:
            stream = it.config.name
            self._server.log.error(
                "Stream {account} > {stream} is offline until the next start: {reason}",
                account=it.account,
                stream=stream,
                reason=it.reason,
            )

    def lose(self, number: int, first: int, last: int) -> None:
        """Say that messages of a stream were found damaged when they were read."""
        entry = self._book.numbered(number)
        account, stream = (entry.account, entry.config.name) if entry is not None else ("", "")
        is_shared = entry is not None and bool(entry.replicas) and entry.config.num_replicas > 1
        what = words_of_loss(first, last)
        self._report(Damaged(account, stream, "", what, (first, last), is_shared))

    def mend(self, number: int, group: int, file: int, reason: int) -> None:
        """Say that a file was found damaged, of which nothing is lost: it is written again.

        Group 0: it is one of the log.
        """
        entry = self._book.numbered(number)
        self._server.log.error(
            "Damage of {whose}: {what}; nothing is lost, and it is written again",
            whose=f"{entry.account} > {entry.config.name}" if entry is not None else "JetStream",
            what=f"file {name_of(group, file) if group else f'{file:010}.log'}:"
            f" {SegmentReason(reason).name.lower()}",
        )

    def _report(self, it: Damaged) -> None:
        """Say what is damaged, now in the log and from now on by `/healthz`.

        That says of what others have too by itself whether it is back, as long as it is not.
        """
        if it.lost[0] and it.stream:
            self._book.lose(it.account, it.stream, *it.lost)
        if it.is_shared:
            self._server.log.error(
                "Damage of {whose}: {what} here, and come from other servers",
                whose=f"{it.account} > {it.stream}",
                what=it.what,
            )
            return
        kind: Any = "CONSUMER" if it.consumer else "STREAM" if it.stream else "JETSTREAM"
        if len(self.damage) < _DAMAGE_MAX:
            self.damage.append(
                HealthProblem(
                    kind=kind,
                    error=f"JetStream: {it.what}",
                    account=it.account,
                    stream=it.stream,
                    consumer=it.consumer,
                )
            )
        whose = " > ".join(filter(None, (it.account, it.stream, it.consumer))) or "JetStream"
        self._server.log.error("Damage of {whose}: {what}", whose=whose, what=it.what)

    def examine(self, question: HealthQuestion) -> Sequence[HealthProblem]:
        """Return what is wrong with the files, or what was asked for and is not there."""
        trouble = self.trouble()
        problems = [HealthProblem(kind="JETSTREAM", error=trouble)] if trouble else []
        problems += [
            HealthProblem(kind="JETSTREAM", error=f"JetStream: {it}; its streams are refused")
            for it in self._failing.values()
        ]
        of_cluster = self._view if question.is_of_cluster else None
        if of_cluster is not None and (problem := meta_problem(of_cluster)):
            return [*problems, HealthProblem(kind="JETSTREAM", error=problem)]
        if not question.is_shallow:
            problems += self.damage
            problems += [
                HealthProblem(
                    kind="STREAM",
                    error=f"JetStream: stream is offline: {it.reason}",
                    account=it.account,
                    stream=it.config.name,
                )
                for it in self._book.offline.values()
            ]
        if self._view is not None:
            found = (
                () if question.is_shallow else assigned_problems(self._view, self._book, question)
            )
            return [*problems, *found]
        return [*problems, *self._look_for(question)]

    def _look_for(self, question: HealthQuestion) -> Sequence[HealthProblem]:
        if problem := self._rivals.problem:
            return [HealthProblem(kind="JETSTREAM", error=problem)]
        account, stream, consumer = question.account, question.stream, question.consumer
        if question.is_shallow or not account:
            return ()
        if not self._book.names(account):
            text = f'JetStream account "{account}" not found'
            return [_missing("ACCOUNT", text, account)]
        entry = self._book.get(account, stream)
        if stream and entry is None:
            text = f'JetStream stream "{stream}" not found on account "{account}"'
            return [_missing("STREAM", text, account, stream)]
        if entry and consumer and consumer not in entry.consumers:
            text = (
                f'JetStream consumer "{consumer}" not found for stream "{stream}"'
                f' on account "{account}"'
            )
            return [_missing("CONSUMER", text, account, stream, consumer)]
        return ()


def _missing(kind: Any, error: str, *names: str) -> HealthProblem:
    found = dict(zip(("account", "stream", "consumer"), names, strict=False))
    return HealthProblem(kind=kind, error=error, is_missing=True, **found)


def _shown(accounts: Sequence[str], options: JszOptions) -> Sequence[str]:
    """Return the accounts of which more is told."""
    if options.account in accounts:
        return [options.account]
    wants_streams = (options.streams or options.consumer) and not options.account
    if not (options.accounts or wants_streams):
        return ()
    offset = max(options.offset, 0)
    limit = options.limit or _ACCOUNTS_SHOWN
    return accounts[offset : offset + limit] if limit > 0 else accounts
