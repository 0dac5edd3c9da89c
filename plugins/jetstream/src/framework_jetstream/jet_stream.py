"""`JetStream`: the streams of a server, and the API that makes, lists and reaches them.

Size: one case for each message and each request that is about no stream, or makes one.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct, field
from typing_extensions import override

from framework.actors import STOP_ON_FAILURE, Component, Reply, Supervision
from framework.spec import ALL_TIERS
from framework_jetstream.api.answers import (
    LIST_MAX,
    NAMES_MAX,
    SYSTEM,
    answer,
    page,
    refused,
)
from framework_jetstream.api.errors import ApiFailure, ErrCode, failure
from framework_jetstream.api.forms import check_before_all, check_without_stream
from framework_jetstream.api.records import (
    AccountStats,
    StreamConfigRequest,
    StreamInfo,
    StreamNamesRequest,
    plain,
)
from framework_jetstream.api.requests import (
    check_account_name,
    check_level,
    is_empty_request,
    read,
)
from framework_jetstream.api.subjects import CLUSTERED, SYSTEM_WORDS, subject_of
from framework_jetstream.api.times import text_from_ns
from framework_jetstream.engine.link import EngineAnswer, EngineAnswers, EngineEvent
from framework_jetstream.engine.verbs import NOT_LOGGED, NOT_STORED, Event, Verb
from framework_jetstream.meta.effects import ChangeAsset, Confirmed, StartAsset, StopAsset
from framework_jetstream.meta.letters import NotRestored, TakeArchive
from framework_jetstream.meta.lost import SetAside
from framework_jetstream.sourcing.rules import check_origins
from framework_jetstream.storage.records import kind_of
from framework_jetstream.storage.storage_keeper import StorageKeeper
from framework_jetstream.stream.account_limits import (
    check_server,
    check_stream,
    fill_in_window,
    usage_by_tier,
    usage_of,
)
from framework_jetstream.stream.archives import Archives, wanted_restore
from framework_jetstream.stream.assigned import AssignedAssets
from framework_jetstream.stream.book import StreamBook, StreamEntry
from framework_jetstream.stream.census import Census, ConsumerCount, StreamCount, Totals
from framework_jetstream.stream.engine_limits import EngineLimits
from framework_jetstream.stream.lost_and_found import LostAndFound
from framework_jetstream.stream.rules import check_create, check_storage, settled
from framework_jetstream.stream.shown import sources_of, state_from_numbers
from framework_jetstream.stream.stream import Stream

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from framework.actors import ActorRef
    from framework_jetstream.advisories import Advisories
    from framework_jetstream.api.asker import Asker
    from framework_jetstream.api.records import StreamConfig, TierStats
    from framework_jetstream.api.saved import RestoredStream
    from framework_jetstream.api.subjects import ApiSubject
    from framework_jetstream.api.usage import ApiUsage
    from framework_jetstream.consumer.entry import ConsumerEntry
    from framework_jetstream.engine.link import EngineLink
    from framework_jetstream.exchange import Exchange
    from framework_jetstream.exports.places import Places
    from framework_jetstream.host import Host
    from framework_jetstream.snapshots.archive import ArchivedConsumer
    from framework_jetstream.storage.storage import Storage

JETSTREAM: Final = "jetstream"
"""Name of its ComponentSpec."""
_LOOK_S: Final = 10.0
WHILE_OFFLINE: Final = frozenset({
    "stream_info",
    "stream_delete",
    "consumer_info",
    "consumer_list",
    "consumer_names",
    "consumer_delete",
})
"""What of a stream is answered whose storage kind fails."""


class JetStream(Component):
    """Own the streams of all accounts: make them, find them, answer for them together.

    Args:
        link: The way to the engine.
        book: The streams, which health checks read too.
        usage: Counts requests.
        advisories: Publishes what happens.
        exchange: Takes and sends pieces of archives, and frames of exports.
        places: Of exports and snapshots.
        host: The server.
        storage: Kinds that keep segments of streams.
        clock: Returns the Unix time in nanoseconds.
    """

    class ApiRequest(Struct, frozen=True):
        """A request of a client."""

        asker: Asker
        tokens: tuple[str, ...]
        """Of its subject, behind `$JS.API.`."""
        payload: bytes
        headers: Mapping[str, tuple[str, ...]]
        reply: Reply[bytes | None]
        """None: nobody answers."""
        subject: str = ""
        """Where the answer goes, if another server is to give it."""
        said: dict[str, str] = field(default_factory=dict)
        """Headers of the answer."""
        archived: tuple[ArchivedConsumer, ...] = ()
        """Consumers of other servers, for an archive."""
        came_ns: int = field(default_factory=time.monotonic_ns)
        """As of a `ServiceRequest`."""

        @property
        def account(self) -> str:
            """Of who asks."""
            return self.asker.account

    class Restore(Struct, frozen=True):
        """Go on with streams that were read from the log."""

        streams: list[RestoredStream]
        last_number: int
        """The highest that a stream of the log has, be it served or not; 0: there is none."""
        opened: Callable[[], None]
        """Called for each stream and each consumer when the engine serves it."""

    class FollowLimits(Struct, frozen=True):
        """Let the engine have other limits of the server and its accounts."""

    class Describe(Struct, frozen=True):
        """Count streams, for monitoring."""

        reply: Reply[list[StreamCount]]
        streams: Sequence[StreamEntry]

    class DescribeConsumers(Struct, frozen=True):
        """Count consumers, for monitoring."""

        reply: Reply[list[ConsumerCount]]
        consumers: Sequence[ConsumerEntry]

    class AddUp(Struct, frozen=True):
        """Say what streams have together, for monitoring."""

        reply: Reply[list[Totals]]
        accounts: Sequence[str | None]
        """Of which; None: all streams."""

    class Later(Struct, frozen=True):
        """Something that was to be done after a while."""

        then: Callable[[], object]

        def use(self) -> None:
            """Do it."""
            self.then()

    class StorageTold(Struct, frozen=True):
        """A storage kind fails from now on, or is well again."""

        kind: str
        problem: str
        """Empty: it is well."""

    def __init__(
        self,
        *,
        link: EngineLink,
        book: StreamBook,
        usage: ApiUsage,
        advisories: Advisories,
        exchange: Exchange,
        places: Places,
        host: Host,
        storage: Storage,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        super().__init__()
        self._link = link
        self._book = book
        self._usage = usage
        self._advisories = advisories
        self._exchange = exchange
        self._places = places
        self._host = host
        self._storage = storage
        self._clock = clock
        self._handlers: dict[str, Callable[[JetStream.ApiRequest, str], None]] = {
            "account_info": self._account_info,
            "stream_names": self._names,
            "stream_list": self._list,
            "stream_create": self._create,
            "stream_restore": self._restore,
        }

    @override
    def on_start(self) -> None:
        self._census = Census(self._link, self.actor_ref)
        self._limits = EngineLimits(self._link, self._host, self.actor_ref)
        self._limits.follow_server()
        self._archives = Archives(
            self,
            book=self._book,
            link=self._link,
            exchange=self._exchange,
            advisories=self._advisories,
            host=self._host,
            check_room=self.check_room,
            begin=self._begin,
            clock=self._clock,
        )
        self._assigned = AssignedAssets(
            book=self._book,
            host=self._host,
            archives=self._archives,
            lost=LostAndFound(
                self, book=self._book, link=self._link, host=self._host, clock=self._clock
            ),
            begin=self._begin,
            close_offline=partial(self._close_offline, then=lambda _: None),
        )
        self._link.listen_to_server(self.actor_ref)

    @override
    def on_receive(self, message: object) -> object:
        match message:
            case EngineAnswers() | JetStream.Later():
                message.use()
            case JetStream.ApiRequest():
                self._take(message)
            case JetStream.Restore(streams, last_number, opened):
                self._book.use_number(last_number)
                for restored in streams:
                    self._go_on(restored, opened)
                self._keep_segments(streams)
            case StartAsset() | StopAsset() | ChangeAsset():
                self._assigned.take(message)
            case Confirmed() | SetAside() | TakeArchive() | NotRestored():
                self._assigned.take_word(message)
            case EngineEvent() | JetStream.StorageTold():
                self._follow_engine(message)
            case JetStream.FollowLimits():
                self._limits.follow_all()
            case JetStream.Describe() | JetStream.DescribeConsumers() | JetStream.AddUp():
                self._count(message)
            case _:
                super().on_receive(message)
        return None

    def _count(
        self, message: JetStream.Describe | JetStream.DescribeConsumers | JetStream.AddUp
    ) -> None:
        """Tell how streams or consumers are, or what streams have together."""
        match message:
            case JetStream.Describe(reply, streams):
                self._census.take(streams, reply.set)
            case JetStream.DescribeConsumers(consumers_reply, consumers):
                self._census.take_consumers(consumers, consumers_reply.set)
            case JetStream.AddUp(totals_reply, accounts):
                self._add_up(accounts, totals_reply.set)

    def _add_up(
        self, accounts: Sequence[str | None], finish: Callable[[list[Totals]], object]
    ) -> None:
        number_of = self._host.account_number
        numbers = [None if it is None else number_of(it) for it in accounts]

        def told(found: list[Totals]) -> None:
            # Of one without streams, what a refused restore had brought may be going still.
            finish([
                it if account is None or self._book.reserved_by(account).streams else Totals()
                for account, it in zip(accounts, found, strict=True)
            ])

        self._census.add_up(numbers, told)

    def call_later(self, delay_s: float, then: Callable[[], object]) -> None:
        """Call something in a turn of this actor, so many seconds later."""
        self.tell_later(delay_s, JetStream.Later(then))

    def _follow_engine(self, event: EngineEvent | JetStream.StorageTold) -> None:
        """Pass on what the engine says of all streams, and what storage kinds say."""
        if isinstance(event, JetStream.StorageTold):
            self._follow_storage(event.kind, event.problem)
        elif event.kind == Event.OUT_OF_STORAGE:
            self._advisories.say_out_of_storage(self._host, event.data.decode())
        elif event.kind == Event.REKEYED and not self._host.rekeyed():
            self.tell_later(_LOOK_S, event)  # a storage kind still removes what was before

    @override
    def on_stop(self) -> None:
        self._link.close()
        self._exchange.close()

    def _take(self, request: JetStream.ApiRequest) -> None:
        """Answer a request, or pass it to the stream that it is about."""
        found = subject_of(request.tokens)
        kind = found.kind if found else SYSTEM
        try:
            if request.account == self._host.system_account():
                self._take_of_system(request, found)
            elif found is None or request.tokens[0] in SYSTEM_WORDS:
                kind = SYSTEM
                raise failure(ErrCode.BAD_REQUEST)
            else:
                self._dispatch(request, found)
        except ApiFailure as refusal:
            request.reply.set(refused(kind, refusal.error))

    def _dispatch(self, request: JetStream.ApiRequest, found: ApiSubject) -> None:
        """Answer a request of an account other than the system's."""
        kind, name = found.kind, found.stream
        if kind in CLUSTERED:
            raise failure(ErrCode.CLUSTER_REQUIRED)
        check_level(request.headers)
        check_before_all(kind, request.payload, is_strict=self._host.is_strict)
        if self._host.limits(request.account) is None:
            raise failure(ErrCode.NOT_ENABLED_FOR_ACCOUNT)
        if kind == "stream_delete" and (request.account, name) in self._book.offline:
            self._delete_offline(request, name)
            return
        self._book.check_online(request.account, name)
        if handler := self._handlers.get(kind):
            handler(request, name)
            return
        entry = self._book.get(request.account, name)
        if entry is None:
            self._refuse_without_stream(kind, name, request.payload)
        assert entry is not None
        if entry.offline and kind not in WHILE_OFFLINE:
            raise failure(ErrCode.STREAM_OFFLINE_REASON, err=entry.offline)
        assert entry.stream is not None
        entry.stream.tell(
            Stream.Request(
                kind,
                request.payload,
                request.reply,
                found.rest,
                found.is_durable,
                request.asker,
                request.headers,
                request.said,
                request.archived,
            )
        )

    def _refuse_without_stream(self, kind: str, name: str, payload: bytes) -> None:
        """Raise ApiFailure: a stream is not there, or the request makes no sense anyway."""
        is_strict = self._host.is_strict
        if kind == "stream_update":
            wanted = settled(read(StreamConfigRequest, payload, is_strict=is_strict))
            if wanted.name != name:
                raise failure(ErrCode.STREAM_MISMATCH)
        check_without_stream(kind, name, payload, is_strict=is_strict)

    def _take_of_system(self, request: JetStream.ApiRequest, found: ApiSubject | None) -> None:
        """Answer a user of the system account, which has no streams, but may purge accounts."""
        kind = found.kind if found else SYSTEM
        if kind == "account_purge":
            assert found is not None
            self._purge_account(request, found.stream)
        elif found is not None and request.tokens[0] in SYSTEM_WORDS:
            raise failure(ErrCode.CLUSTER_REQUIRED)
        else:
            kind = kind if kind == "account_info" else SYSTEM
            error = failure(ErrCode.NOT_ENABLED_FOR_ACCOUNT).error
            request.reply.set(refused(kind, error))

    def _purge_account(self, request: JetStream.ApiRequest, account: str) -> None:
        """Delete all streams of an account."""
        check_account_name(account)
        entries = self._book.streams(account)
        left = len(entries)

        def deleted(_: Reply[bytes | None]) -> None:
            nonlocal left
            left -= 1
            if left <= 0:
                request.reply.set(answer("account_purge", {"initiated": True}))

        for entry in entries:
            assert entry.stream is not None
            gone = Reply[bytes | None]()
            gone.when_done(deleted)
            entry.stream.tell(Stream.Request("stream_delete", b"", gone))
        if not entries:
            request.reply.set(answer("account_purge", {"initiated": True}))

    # -- one stream ------------------------------------------------------------------------------

    def _create(self, request: JetStream.ApiRequest, name: str) -> None:
        wanted = read(StreamConfigRequest, request.payload, is_strict=self._host.is_strict)
        if wanted.name != name:
            raise failure(ErrCode.STREAM_MISMATCH)
        fill_in_window(self._host.config, wanted)
        config = settled(wanted)
        check_create(config)
        check_storage(config, self._storage.kinds)
        check_origins(config, partial(self._book.config_of, request.account))
        known = self._book.get(request.account, name)
        if known is not None:
            if known.config != config:
                raise failure(ErrCode.STREAM_NAME_EXISTS)
            assert known.stream is not None
            known.stream.tell(Stream.Request("stream_create", b"", request.reply))
            return
        self._check_kind(config)
        self.check_room(request.account, config, is_new=True)
        self._book.check_subjects(request.account, config)
        entry = StreamEntry(
            number=self._book.next_number(),
            account=request.account,
            config=config,
            created_ns=self._clock(),
        )
        stream = self._begin(entry)
        stream.tell(Stream.Open(self._host.account_number(request.account), request.reply))

    def _go_on(self, restored: RestoredStream, opened: Callable[[], None]) -> None:
        saved = restored.saved
        if saved.is_unfinished:
            self._archives.find(restored)
            for _ in restored.numbers:
                opened()
            return
        entry = StreamEntry(
            number=restored.number,
            account=saved.account,
            config=saved.config,
            created_ns=saved.created_ns,
            group=saved.group,
            replicas=saved.replicas,
            is_logged=True,
            revision=saved.revision,
            is_leader=not saved.replicas,
        )
        stream = self._begin(entry)
        account_number = self._host.account_number(saved.account)
        stream.tell(Stream.Restore(account_number, restored.consumers, opened))

    def _begin(self, entry: StreamEntry) -> ActorRef[Stream]:
        self._book.put(entry)
        self._limits.follow(entry.account)
        entry.stream = stream = self.spawn(
            Stream,
            supervision=STOP_ON_FAILURE,
            entry=entry,
            book=self._book,
            link=self._link,
            host=self._host,
            advisories=self._advisories,
            check_room=self.check_room,
            exchange=self._exchange,
            places=self._places,
            clock=self._clock,
        )
        return stream

    def _restore(self, request: JetStream.ApiRequest, name: str) -> None:
        """Tell a client where to send an archive."""
        config = wanted_restore(request.payload, name, is_strict=self._host.is_strict)
        check_create(config)
        self._check_kind(config)
        check_origins(config, partial(self._book.config_of, request.account))
        self.check_room(request.account, config, is_new=True)
        if self._book.get(request.account, name) is not None:
            raise failure(ErrCode.STREAM_NAME_EXISTS_RESTORE)
        self._book.check_subjects(request.account, config)
        self._archives.restore(request.asker, config, request.reply)

    # -- storage kinds ---------------------------------------------------------------------------

    def _delete_offline(self, request: JetStream.ApiRequest, name: str) -> None:
        """Delete a stream that is not served; its segments go at the next start."""
        if not is_empty_request(request.payload):
            raise failure(ErrCode.NOT_EMPTY_REQUEST)

        def closed(problem: str) -> None:
            if problem:
                error = failure(ErrCode.STREAM_DELETE, err=problem).error
                request.reply.set(refused("stream_delete", error))
                return
            self._advisories.say_stream(request.account, name, "delete")
            request.reply.set(answer("stream_delete", {"success": True}))

        self._close_offline(request.account, name, closed)

    def _close_offline(self, account: str, name: str, then: Callable[[str], object]) -> None:
        """Let nothing be left in the log of a stream that is not served; `then` hears of a problem.

        It may come once more: what could not be closed is there at the next start.
        """
        groups = list(self._book.offline[account, name].groups)

        def close(told: EngineAnswer | None = None) -> None:
            if told is not None and told.status == NOT_LOGGED:
                then(NOT_STORED)
            elif groups:
                # The stream goes last: what is not done now belongs to it then.
                self._link.ask(self.actor_ref, Verb.CLOSE_ABANDONED, groups.pop(), then=close)
            else:
                self._book.forget_offline(account, name)
                then("")

        close()

    def _check_kind(self, config: StreamConfig) -> None:
        """Raise ApiFailure for a new stream that its storage kind can't keep now."""
        check_storage(config, self._storage.kinds)
        if problem := self._storage.problems.get(kind_of(config.metadata)):
            raise failure(ErrCode.STREAM_OFFLINE_REASON, err=problem)

    def _keep_segments(self, streams: Sequence[RestoredStream]) -> None:
        """Let kinds have what is to be theirs, and go on with what was left undone."""
        for kind in self._storage.kinds:
            keeper = self.spawn(
                StorageKeeper,
                name=f"storage-{kind}",
                supervision=Supervision(),
                storage=self._storage,
                kind=kind,
                told=lambda problem, kind=kind: self.actor_ref.tell(
                    JetStream.StorageTold(kind, problem)
                ),
            )
            self._storage.serve(kind, keeper)
        groups = {it.group: kind_of(it.saved.config.metadata) for it in streams}
        self._storage.go_on(groups)

    def _follow_storage(self, kind: str, problem: str) -> None:
        """Refuse what is for a kind that fails, or no more."""
        for entry in self._book.all():
            if kind_of(entry.config.metadata) == kind:
                entry.offline = problem and f"storage kind {kind}: {problem}"
                self._link.ask(
                    self.actor_ref,
                    Verb.REFUSE_STREAM,
                    entry.number,
                    then=lambda _: None,
                    numbers=(bool(problem),),
                )

    def check_room(self, account: str, config: StreamConfig, *, is_new: bool = False) -> None:
        """Raise ApiFailure where an account, or this server, has no room for a stream."""
        tiers = self._host.limits(account)
        if tiers is None:
            raise failure(ErrCode.NOT_ENABLED_FOR_ACCOUNT)
        others, everybody = self._book.reserved_beside(account, config.name)
        check_stream(tiers, config, others, is_new=is_new)
        check_server(self._host.config, config, everybody)

    # -- all of an account -----------------------------------------------------------------------

    def _names(self, request: JetStream.ApiRequest, _: str) -> None:
        wanted = read(StreamNamesRequest, request.payload, is_strict=self._host.is_strict)
        names = self._book.names(request.account, wanted.subject)
        request.reply.set(answer("stream_names", page(names, wanted.offset, NAMES_MAX, "streams")))

    def _list(self, request: JetStream.ApiRequest, _: str) -> None:
        wanted = read(StreamNamesRequest, request.payload, is_strict=self._host.is_strict)
        names = self._book.names(request.account, wanted.subject)
        paged = page(names, wanted.offset, 0, "streams")
        begin = paged["offset"]
        shown = self._book.named(request.account, names[begin : begin + LIST_MAX])

        def finish(counts: Sequence[StreamCount]) -> None:
            infos = [self._info_of(it) for it in counts if it.state]
            told = {**paged, "limit": LIST_MAX, "streams": [plain(info) for info in infos]}
            request.reply.set(answer("stream_list", told))

        self._census.take(shown, finish)

    def _info_of(self, count: StreamCount) -> StreamInfo:
        assert count.state is not None
        return StreamInfo(
            config=count.entry.config,
            created=text_from_ns(count.entry.created_ns),
            state=state_from_numbers(count.state.numbers, count.entry.consumer_count),
            **sources_of(count.entry, count.state),
            domain=self._host.config.domain,
            ts=text_from_ns(self._clock()),
        )

    def _account_info(self, request: JetStream.ApiRequest, _: str) -> None:
        account = request.account
        tiers = self._host.limits(account) or {}

        def tell(whole: TierStats, by_tier: dict[str, TierStats] | None = None) -> None:
            stats = AccountStats(
                **msgspec.structs.asdict(whole),
                domain=self._host.config.domain,
                api=self._usage.stats_of(account),
                tiers=by_tier,
            )
            request.reply.set(answer("account_info", plain(stats)))

        def add_up(found: Sequence[Totals]) -> None:
            reserved, count = self._book.reserved_by(account), self._book.consumer_count(account)
            tell(usage_of(found[0], reserved, count, tiers[ALL_TIERS]))

        if ALL_TIERS in tiers:
            self._add_up([account], add_up)
        else:
            entries = self._book.streams(account)
            self._census.take(entries, lambda counts: tell(*usage_by_tier(counts, tiers)))
