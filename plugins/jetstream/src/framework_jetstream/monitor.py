"""What monitoring shows of JetStream: `/jsz`, `/healthz`, and fields in `/varz` and STATSZ.

Source: nats-server `monitor.go`, `Jsz`, `accountDetail`, `healthz`; `events.go`, `sendStatsz`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from framework.errors import BadQuery, NoAnswer
from framework.spec import HealthProblem
from framework.spec.formats import time_text
from framework_jetstream.api.records import plain
from framework_jetstream.api.saved import Damaged, words_of_loss
from framework_jetstream.api.times import text_from_ns
from framework_jetstream.cluster.health import assigned_problems, meta_problem
from framework_jetstream.counts import Counts
from framework_jetstream.jsz import AccountDetails, JszOptions, shown_accounts
from framework_jetstream.store.folder import name_of
from framework_jetstream.store.offline import SegmentReason

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from framework.spec import HealthQuestion, ServerContext
    from framework_jetstream.api.saved import Offline
    from framework_jetstream.api.usage import ApiUsage
    from framework_jetstream.cluster.raftz import RaftzOptions
    from framework_jetstream.engine.link import ScrubPass
    from framework_jetstream.host import Host
    from framework_jetstream.meta.view import ClusterView
    from framework_jetstream.rivals import Rivals
    from framework_jetstream.stream.book import StreamBook
    from framework_jetstream.stream.census import Totals

_DAMAGE_MAX: Final = 10_000
"""Of which `/healthz` tells; the log has all of it."""
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
        self._counts = Counts(server)
        self._details = AccountDetails(
            server=server,
            host=host,
            book=book,
            usage=usage,
            counts=self._counts,
            clock=clock,
            view=view,
        )
        self.damage: list[HealthProblem] = []
        """What was found damaged when the streams were read."""
        self._nameless: list[HealthProblem] = []
        """Of groups of the log of which nothing says what they are."""
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
        accounts, entries = self._accounts(), list(self._book.all())
        [totals] = await self._counts.totals((None,))
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
        if self._book.begun_anew:
            document["begun_anew"] = self._book.begun_anew
        if scrubs := [_shown_pass(it) for it in self._scrubs()]:
            document["scrubs"] = scrubs
        consumers = [it for entry in entries for it in entry.consumers.values()]
        if options.raft and (led := sum(it.is_leader for it in entries)):
            document["streams_leader"] = led
        document["consumers"] = len(consumers)
        if options.raft and (led := sum(it.is_leader for it in consumers)):
            document["consumers_leader"] = led
        document["messages"] = totals.messages
        document["bytes"] = totals.memory + totals.storage
        if shown := shown_accounts(accounts, options):
            document["account_details"] = self._details.of_accounts(shown, options)
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
        return await self._details.of_account(name, options)

    def _accounts(self) -> list[str]:
        """Return the accounts that may have streams, by name."""
        names = self._server.accounts.names()
        return sorted(name for name in names if self._host.limits(name) is not None)

    # -- /raftz ----------------------------------------------------------------------------------

    async def answer_raftz(self, options: RaftzOptions) -> dict[str, Any]:
        """Return the document of `/raftz`: account, group, how it is."""
        assert self._view is not None
        system_account = self._host.system_account()
        account = options.account or system_account
        from framework_jetstream.cluster.raftz import Raftz  # noqa: PLC0415 - who shares streams

        raftz = Raftz(self._view, self._counts, system_account, options.group)
        shown = raftz.meta_group() if account == system_account else {}
        async for some in raftz.groups_of(self._book.streams(account)):
            shown |= some
            await self._server.take_turn()
        return {account: shown} if shown else {}

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
        [totals] = await self._counts.totals((None,))
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
        problems = self._nameless if it.is_nameless else self.damage
        if len(problems) < _DAMAGE_MAX:
            problems.append(
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
            if self._nameless and not self._has_replicas_of_all():
                problems += self._nameless
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

    def _has_replicas_of_all(self) -> bool:
        """Return whether other servers have all that was here; what is not back yet has a name."""
        found = list(self._view.machine.assets_here()) if self._view is not None else []
        return bool(found) and all(len(it.group.hosts) > 1 for _, it in found)

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
