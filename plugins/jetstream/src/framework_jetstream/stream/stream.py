"""`Stream`: one stream's configuration, and what its API answers; the engine has its messages.

Size: one handler for each request of the API.
"""

from __future__ import annotations

import struct
import time
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final

from msgspec import Struct, field, structs
from typing_extensions import override

from framework.actors import Component, Reply
from framework_jetstream.api.answers import (
    LIST_MAX,
    NAMES_MAX,
    SUBJECTS_MAX,
    answer,
    page,
    refused,
)
from framework_jetstream.api.asker import Asker
from framework_jetstream.api.errors import ApiFailure, ErrCode, failure
from framework_jetstream.api.records import (
    ClusterInfo,
    PagedRequest,
    StreamConfigRequest,
    StreamInfo,
    StreamInfoRequest,
    StreamState,
    plain,
)
from framework_jetstream.api.requests import is_empty_request, read
from framework_jetstream.api.saved import SavedStream, text_of
from framework_jetstream.api.times import text_from_ns
from framework_jetstream.consumer.bounds import bounds_of, consumers_max
from framework_jetstream.consumer.configuring import tell_engine
from framework_jetstream.consumer.consumer import ASKED_NS, Consumer, info_of
from framework_jetstream.consumer.consumer_requests import wanted_consumer
from framework_jetstream.consumer.entry import ConsumerEntry
from framework_jetstream.consumer.rules import (
    check_new,
    check_partition,
    settle_ending,
    settle_metadata,
)
from framework_jetstream.consumer.terms import BURST_BYTES
from framework_jetstream.engine.link import EngineAnswers, EngineEvent, replica_numbers
from framework_jetstream.engine.verbs import (
    NOT_STORED,
    REPAIRS_LOSS,
    REPAIRS_OTHER,
    Event,
    GroupOf,
    Verb,
)
from framework_jetstream.meta.answering import HANDED_OVER_NS
from framework_jetstream.meta.peers import peer_from_number
from framework_jetstream.meta.view import group_state
from framework_jetstream.sourcing.rules import check_origins
from framework_jetstream.sourcing.served import (
    IDENTITY_HEADER,
    check_identity,
    follow_known,
    identity,
    settle_sourcing,
)
from framework_jetstream.sourcing.sourcing import Sourcing
from framework_jetstream.stream.account_limits import fill_in_window, limits_for
from framework_jetstream.stream.adopting import Adopting
from framework_jetstream.stream.message_requests import MessageRequests
from framework_jetstream.stream.rules import limits_of, updated
from framework_jetstream.stream.sending import Sending
from framework_jetstream.stream.shared_stream import SharedStream
from framework_jetstream.stream.shown import (
    sources_of,
    state_from_numbers,
    subjects_from_bytes,
    with_levels,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from framework.actors import ActorRef
    from framework.spec import JetStreamLimits
    from framework_jetstream.advisories import Advisories
    from framework_jetstream.api.records import ConsumerConfig, StreamConfig
    from framework_jetstream.api.saved import RestoredConsumer
    from framework_jetstream.consumer.bounds import ConsumerBounds
    from framework_jetstream.engine.link import EngineAnswer, EngineLink
    from framework_jetstream.exchange import Exchange
    from framework_jetstream.exports.places import Places
    from framework_jetstream.host import Host
    from framework_jetstream.snapshots.archive import ArchivedConsumer
    from framework_jetstream.stream.book import StreamBook, StreamEntry

_SUBJECT: Final = struct.Struct("=QI")


class Stream(Component):
    """Own one stream: answer the requests about it, and command the engine.

    Args:
        entry: What others know of it; its configuration is changed here.
        book: All streams, whose subjects it may not take.
        link: The way to the engine.
        host: The server, which leads it.
        advisories: Publishes what happens.
        check_room: Raises ApiFailure where an account may not have a stream like this.
        exchange: Sends snapshots and exports.
        places: Of exports.
        clock: Returns the Unix time in nanoseconds.
    """

    class Request(Struct, frozen=True):
        """A request of the API about this stream."""

        kind: str
        """As its answer is called, such as `stream_purge`."""
        payload: bytes
        reply: Reply[bytes | None]
        rest: tuple[str, ...] = ()
        """Tokens of its subject behind the stream's name."""
        is_durable: bool = False
        asker: Asker = Asker("")
        headers: Mapping[str, tuple[str, ...]] = {}
        said: dict[str, str] = field(default_factory=dict)
        """Headers of its answer."""
        archived: tuple[ArchivedConsumer, ...] = ()
        """Consumers of other servers, for an archive."""

    class Adopt(Struct, frozen=True):
        """Go on with what was restored in the engine."""

        consumers: list[ArchivedConsumer]
        reply: Reply[bytes | None]

    class Open(Struct, frozen=True):
        """Make it in the engine."""

        account_number: int
        reply: Reply[bytes | None]

    class Restore(Struct, frozen=True):
        """Go on with it, and with its consumers, as they were read from the log."""

        account_number: int
        consumers: list[RestoredConsumer]
        opened: Callable[[], None]
        """Called when the engine serves it, and when it serves each of its consumers."""

    class StartConsumer(Struct, frozen=True):
        """Have a consumer that the meta group has assigned to this server."""

        group: str
        """Name of its group."""
        replicas: tuple[int, ...]
        config: ConsumerConfig
        created_ns: int
        reply: Reply[bytes | None]
        """Set once, by who leads it first."""
        may_have_been: bool = False
        """It may have been here before, in a store that is lost since."""

    class Look(Struct, frozen=True):
        """The meta group has said something of it."""

        reply: str = ""
        """Where to answer when it is so; empty: nobody waits."""

    class ChangeConsumer(Struct, frozen=True):
        """Let a consumer be as the meta group has decided: its configuration, or who has it."""

        group: str
        config: ConsumerConfig
        reply: Reply[bytes | None]
        """Set by who leads it."""

    class Later(Struct, frozen=True):
        """Something that was to be done after a while."""

        then: Callable[[], object]

    class StopConsumer(Struct, frozen=True):
        """Have it no more."""

        group: str
        reply: Reply[bytes | None]

    def __init__(
        self,
        *,
        entry: StreamEntry,
        book: StreamBook,
        link: EngineLink,
        host: Host,
        advisories: Advisories,
        check_room: Callable[[str, StreamConfig], None],
        exchange: Exchange,
        places: Places,
        clock: Callable[[], int],
    ) -> None:
        super().__init__()
        self._entry = entry
        self._book = book
        self._link = link
        self._host = host
        self._advisories = advisories
        self._check_room = check_room
        self._exchange = exchange
        self._clock = clock
        self._consumers = entry.consumers
        self._successors: dict[str, Stream.StartConsumer] = {}
        """Assigned consumers that wait: one of the same name has not ended here yet."""
        self._asked: Reply[bytes | None] | None = None
        self._adopting: Adopting | None = None
        self._restored: Reply[bytes | None] | None = None
        self._group_told: tuple[tuple[int, ...], bytes] | None = None
        self._messages = MessageRequests(entry, host, self._ask)
        self._sending = Sending(
            self,
            entry=entry,
            link=link,
            host=host,
            advisories=advisories,
            exchange=exchange,
            places=places,
            clock=clock,
        )

    @override
    def on_stop(self) -> None:
        self._link.forget_stream(self._entry.number)
        for entry in self._consumers.values():
            self._link.forget(entry.number)
        # Each leads back here: without them nothing of this actor waits for the collector.
        del self._messages, self._sending, self._shared, self._sourcing

    @override
    def on_start(self) -> None:
        if self._entry.replicas:
            self._link.listen_to_stream(self._entry.number, self.actor_ref)
        self._shared = SharedStream(
            self,
            entry=self._entry,
            book=self._book,
            link=self._link,
            host=self._host,
            clock=self._clock,
        )
        self._sourcing = Sourcing(
            self,
            account=self._entry.account,
            number=self._entry.number,
            entries=self._entry.sources,
            link=self._link,
            exchange=self._exchange,
            host=self._host,
        )

    @override
    def on_receive(self, message: object) -> object:
        match message:
            case EngineAnswers():
                message.use()
            case Stream.Request():
                try:
                    self._HANDLERS.get(message.kind, _refuse_missing)(self, message)
                except ApiFailure as refusal:
                    message.reply.set(refused(message.kind, refusal.error))
            case Stream.Open() | Stream.Restore() | Stream.Adopt():
                self._begin(message)
            case EngineEvent(about=ConsumerEntry()):
                self._tell_consumer(message)
            case EngineEvent(kind=Event.LEADS | Event.FOLLOWS):
                self._lead() if message.kind == Event.LEADS else self._follow()
            case Stream.StartConsumer() | Stream.StopConsumer() | Stream.ChangeConsumer():
                self._take_assigned(message)
            case Stream.Look() | Stream.Later() | EngineEvent():
                self._take_shared(message)
            case _:
                super().on_receive(message)
        return None

    def _begin(self, message: Stream.Open | Stream.Restore | Stream.Adopt) -> None:
        match message:
            case Stream.Open():
                self._open(message)
            case Stream.Restore():
                self._restore(message)
            case Stream.Adopt():
                self._adopt(message)

    def _take_shared(self, message: Stream.Look | Stream.Later | EngineEvent) -> None:
        match message:
            case Stream.Look(reply):
                self._shared.look(reply)
            case Stream.Later(then):
                then()
            case EngineEvent(kind=Event.UPDATE, numbers=numbers, data=data):
                self._shared.follow(numbers[0], data)
            case EngineEvent(kind=Event.REPAIRS, numbers=numbers):
                self._repair(numbers[0])
            case EngineEvent(kind=Event.DIFFERS, data=data):
                self._differ(data)
            case _:
                pass

    def _differ(self, numbers: bytes) -> None:
        """Take up at which servers it has come to differ, and say of each that was not known."""
        entry, host = self._entry, self._host
        peers = [peer_from_number(it) for (it,) in struct.iter_unpack("=Q", numbers)]
        names = tuple(sorted(host.server_name(it) for it in peers))
        for server in self._book.differ(entry.account, entry.config.name, names):
            name = f"stream {entry.config.name} of account {entry.account}"
            host.report(f"{name} has come to differ at server {server} from what it is here")

    def _repair(self, what: int) -> None:
        """Take up whether something of it is lost here, and say so.

        What begins anew has nothing, and which messages were lost at first says little any more.

        Args:
            what: As of `Event.REPAIRS`.
        """
        entry = self._entry
        if what and not entry.is_repaired:
            name = f"stream {entry.config.name} of account {entry.account}"
            found = f"something of {name} is lost here; other servers give it back"
            if what == REPAIRS_OTHER:
                self._book.begun_anew += 1
                found = (
                    f"{name} has come to differ here from what most servers have; it begins anew"
                )
            self._host.report(found)
        if what in {0, REPAIRS_LOSS}:
            self._book.regain(entry.account, entry.config.name)
        entry.is_repaired = bool(what)

    def _ask(self, verb: Verb, then: Callable[[EngineAnswer], object], **more: Any) -> None:
        self._link.ask(self.actor_ref, verb, self._entry.number, then=then, **more)

    # -- opening, changing and ending ------------------------------------------------------------

    def _open(self, request: Stream.Open) -> None:
        def opened(told: EngineAnswer) -> None:
            if told.status:
                self._book.remove(self._entry)
                error = failure(ErrCode.STORAGE_RESOURCES_EXCEEDED).error
                request.reply.set(refused("stream_create", error))
                self.stop()
            elif not self._entry.replicas:
                self._sourcing.follow(self._entry.config)
                self._answer_info("stream_create", request.reply, did_create=True)

        if self._entry.replicas:
            # Who leads it answers: maybe this server, before its engine has said that it is open.
            self._asked = request.reply
        else:
            self._tell("create")
        self.ask_open(request.account_number, opened)

    def _lead(self) -> None:
        """Answer for it from now on; who has asked for it is answered when it is first led."""
        self._entry.is_leader = True
        self._shared.look()
        self._sourcing.follow(self._entry.config)
        self._entry.leads_since_ns = self._clock()
        self._entry.led_from_ns = time.monotonic_ns() + HANDED_OVER_NS
        self._ask(Verb.GROUP_STATE, self._say_elected, numbers=(GroupOf.STREAM,))
        reply, self._restored = self._restored, None
        if reply is not None:
            self._answer_info("stream_create", reply)
        reply, self._asked = self._asked, None
        if reply is not None and self._clock() - self._entry.created_ns <= ASKED_NS:
            self._tell("create")
            self._answer_info("stream_create", reply, did_create=True)

    def _say_elected(self, told: EngineAnswer) -> None:
        """Let who listens know that this server leads it now."""
        entry, told_of = self._entry, (told.numbers, told.data)
        if not told.status and not group_state(*told_of).is_handed_over:
            entry.led_from_ns = min(entry.led_from_ns, time.monotonic_ns())
        name, since_ns = entry.config.name, entry.leads_since_ns
        cluster = self._host.cluster_of((entry.account, name, ""), told_of, since_ns)
        if cluster is not None and not told.status and entry.is_leader:
            system = self._host.system_account()
            self._advisories.say_leader(entry.account, system, (name, ""), cluster)

    def _follow(self) -> None:
        self._entry.is_leader = False
        self._entry.leads_since_ns = 0
        self._book.differ(self._entry.account, self._entry.config.name, ())
        self._asked = None
        self._sourcing.end()

    def ask_open(self, account_number: int, then: Callable[[EngineAnswer], object]) -> None:
        """Let the engine have it, or let other servers be added to it, as its entry says."""
        config = self._entry.config
        self._ask(
            Verb.OPEN_STREAM,
            then,
            numbers=(
                account_number,
                1 if config.storage == "file" else 2 * self._is_logged,
                config.first_seq,
                0,
                *replica_numbers(self._entry.replicas, may_have_been=self._entry.is_repaired),
            ),
            limits=limits_of(config),
            first=config.name.encode(),
            second="\n".join(config.subjects or ()).encode(),
            third=self._saved(config),
        )

    def _restore(self, request: Stream.Restore) -> None:
        opened = request.opened

        def served(_: EngineAnswer) -> None:
            self._sourcing.follow(self._entry.config)
            opened()

        self.ask_open(request.account_number, served)
        for restored in request.consumers:
            saved = restored.saved
            entry = self._add_consumer(
                restored.number,
                saved.config,
                saved.created_ns,
                group=saved.group,
                replicas=saved.replicas,
                is_logged=True,
            )
            then = partial(self._consumer_opened, entry, opened)
            tell_engine(entry, Verb.OPEN_CONSUMER, self._link, self.actor_ref, then)

    def _consumer_opened(
        self, entry: ConsumerEntry, opened: Callable[[], None], told: EngineAnswer
    ) -> None:
        """Go on with a consumer that was read from the log; one without room is ended."""
        if told.status:
            reply = Reply[bytes | None]()
            reply.when_done(lambda _: opened())
            self._actor_of(entry).tell(Consumer.Request("consumer_delete", b"", reply))
        else:
            opened()

    @property
    def _is_logged(self) -> bool:
        entry = self._entry
        return entry.config.storage == "file" or bool(entry.replicas) or entry.is_logged

    def _saved(self, config: StreamConfig) -> bytes:
        """Return what the log is to know of the stream; empty: it has none."""
        entry = self._entry
        if not self._is_logged:
            return b""
        return text_of(
            SavedStream(
                entry.account,
                entry.created_ns,
                config,
                replicas=entry.replicas,
                group=entry.group,
                revision=entry.revision,
            )
        )

    def _adopt(self, request: Stream.Adopt) -> None:
        self._tell("create")
        if self._entry.group:
            self._shared.hold()
            self._adopting = Adopting(request, self._adopt_assigned)
        else:
            self.describe(Verb.UPDATE_STREAM, lambda _: self._adopt_consumers(request))

    def _adopt_assigned(self, request: Stream.Adopt) -> None:
        """Be the stream that was assigned, now that all consumers of the archive are here.

        What has stopped before leaves a stream that is unfinished, and its assignment is taken
        back.
        """

        def adopted(_: EngineAnswer) -> None:
            self._adopting = None
            self._sourcing.follow(self._entry.config)
            found = self._host.assigned((self._entry.account, self._entry.config.name, ""))
            if found is not None and found.group.target:
                self._restored = request.reply  # who asked goes on when it is led again
            else:
                self._answer_info("stream_create", request.reply)
            self._shared.go_on()
            for it in self._consumers.values():
                if it.consumer is not None:
                    it.consumer.tell(Consumer.Change(it.config, Reply()))

        self.describe(Verb.UPDATE_STREAM, adopted)

    def _adopt_consumers(self, request: Stream.Adopt) -> None:
        """Make the consumers of an archive."""
        self._sourcing.follow(self._entry.config)
        for it in request.consumers:
            if it.config.name not in self._consumers:
                consumer = self._begin_consumer(
                    self._link.next_consumer(), it.config, self._clock()
                )
                consumer.tell(Consumer.Adopt(it.state, Reply()))
        self._answer_info("stream_create", request.reply)

    def _repeat_create(self, request: Stream.Request) -> None:
        self._answer_info("stream_create", request.reply, did_create=True)

    def _update(self, request: Stream.Request) -> None:
        wanted = read(StreamConfigRequest, request.payload, is_strict=self._host.is_strict)
        if wanted.name != self._entry.config.name:
            raise failure(ErrCode.STREAM_MISMATCH)
        before = self._entry.config
        fill_in_window(self._host.config, wanted)
        config = updated(before, wanted)
        check_origins(config, partial(self._book.config_of, self._entry.account))
        self._check_room(self._entry.account, config)
        self._book.check_subjects(self._entry.account, config)
        self._book.configure(self._entry, config)

        def changed(told: EngineAnswer) -> None:
            if told.status:
                self._book.configure(self._entry, before)
                error = failure(ErrCode.STORAGE_RESOURCES_EXCEEDED).error
                request.reply.set(refused("stream_update", error))
            else:
                self.changed(request.reply)

        self.describe(Verb.UPDATE_STREAM, changed)

    def changed(self, reply: Reply[bytes | None]) -> None:
        """Say that it is as its configuration says now."""
        self._tell("modify")
        self._sourcing.follow(self._entry.config)
        self._answer_info("stream_update", reply)

    def configured(self) -> None:
        """Have the sources that its configuration says now, as who leads it."""
        if self._entry.is_leader:
            self._sourcing.follow(self._entry.config)

    def describe(
        self, verb: Verb, then: Callable[[EngineAnswer], object], numbers: tuple[int, ...] = ()
    ) -> None:
        """Let the engine have its configuration, by a command that is made as UPDATE_STREAM is."""
        config = self._entry.config
        account = self._host.account_number(self._entry.account)
        self._ask(
            verb,
            then,
            numbers=(account, *numbers),
            limits=limits_of(config),
            first=config.name.encode(),
            second="\n".join(config.subjects or ()).encode(),
            third=self._saved(config),
        )

    def _delete(self, request: Stream.Request) -> None:
        if not is_empty_request(request.payload):
            raise failure(ErrCode.NOT_EMPTY_REQUEST)
        self._book.remove(self._entry)

        def end(told: EngineAnswer) -> None:
            if told.status:
                if self._book.get(self._entry.account, self._entry.config.name) is None:
                    self._book.put(self._entry)
                error = failure(ErrCode.STREAM_DELETE, err=NOT_STORED).error
                request.reply.set(refused("stream_delete", error))
            else:
                self._tell("delete")
                request.reply.set(answer("stream_delete", {"success": True}))
                self.stop()

        self._ask(Verb.CLOSE_STREAM, end)

    def call_later(self, delay_s: float, then: Callable[[], object]) -> None:
        """Call something in a turn of this actor, so many seconds later."""
        self.tell_later(delay_s, Stream.Later(then))

    def _tell(self, action: str) -> None:
        """Let who listens know what happens to the stream."""
        if not self._entry.is_leader:
            return
        self._advisories.say_stream(self._entry.account, self._entry.config.name, action)

    # -- saying how it is ------------------------------------------------------------------------

    def _info(self, request: Stream.Request) -> None:
        wanted = read(StreamInfoRequest, request.payload, is_strict=self._host.is_strict)
        found: dict[str, Any] = {}

        def deleted(told: EngineAnswer) -> None:
            found["deleted"] = [seq for (seq,) in struct.iter_unpack("=Q", told.data)]

        def subjects(told: EngineAnswer) -> None:
            found["subjects"] = subjects_from_bytes(told.data)

        self._ask_group()
        if wanted.deleted_details:
            self._ask(Verb.LIST_DELETED, deleted)
        if wanted.subjects_filter:
            self._ask(Verb.LIST_SUBJECTS, subjects, first=wanted.subjects_filter.encode())

        def finish(told: EngineAnswer) -> None:
            everywhere = self._host.consumer_count(self._entry.account, self._entry.config.name)
            state = state_from_numbers(told.numbers, everywhere or self._entry.consumer_count)
            state.deleted = found.get("deleted")
            paged = {"total": 0, "offset": 0, "limit": 0}
            if "subjects" in found:
                rows = found["subjects"]
                offset = min(max(wanted.offset, 0), len(rows))
                state.subjects = dict(rows[offset : offset + SUBJECTS_MAX])
                if rows:
                    paged = {"total": len(rows), "offset": offset, "limit": SUBJECTS_MAX}
            info = plain(self.info_of(state, told, leader=True, domain=self._host.config.domain))
            request.reply.set(answer("stream_info", {**paged, **info}))

        self._ask(Verb.STREAM_STATE, finish)

    def _ask_group(self) -> None:
        """Ask who follows, before what is answered then."""

        def take(told: EngineAnswer) -> None:
            self._group_told = (told.numbers, told.data)

        if self._entry.replicas:
            self._ask(Verb.GROUP_STATE, take, numbers=(GroupOf.STREAM,))

    def _cluster(self) -> ClusterInfo | None:
        """Return who has it; None: the server is in no cluster that shares streams."""
        entry = self._entry
        asset = (entry.account, entry.config.name, "")
        since_ns = entry.leads_since_ns
        found: ClusterInfo | None = self._host.cluster_of(asset, self._group_told, since_ns)
        return found

    def _answer_info(
        self, kind: str, reply: Reply[bytes | None], *, did_create: bool = False
    ) -> None:
        self._ask_group()

        def finish(told: EngineAnswer) -> None:
            state = state_from_numbers(told.numbers, self._entry.consumer_count)
            domain = "" if did_create else self._host.config.domain
            fields = plain(self.info_of(state, told, domain=domain))
            reply.set(answer(kind, {**fields, "did_create": True} if did_create else fields))

        self._ask(Verb.STREAM_STATE, finish)

    def info_of(
        self, state: StreamState, told: EngineAnswer, *, leader: bool = False, domain: str = ""
    ) -> StreamInfo:
        """Return the stream as answers about it alone show it."""
        return StreamInfo(
            **sources_of(self._entry, told),
            config=with_levels(self._entry.config),
            created=text_from_ns(self._entry.created_ns),
            state=state,
            domain=domain,
            cluster=self._cluster() or (ClusterInfo(leader=self._host.name) if leader else None),
            ts=text_from_ns(self._clock()),
        )

    # -- its consumers ---------------------------------------------------------------------------

    def _create_consumer(self, request: Stream.Request) -> None:
        stream = self._entry.config
        config, action = wanted_consumer(
            request.payload,
            request.rest,
            stream,
            is_durable=request.is_durable,
            is_strict=self._host.is_strict,
            bounds=self._bounds(),
            settle=settle_sourcing,
        )
        if config.direct or config.sourcing:
            check_identity(request.headers, self._entry.created_ns)
            request.said[IDENTITY_HEADER] = identity(self._entry.created_ns)
        known = self._consumers.get(config.name)
        if known is not None:
            follow_known(config, known.config)
            # Only a request of its own changes a pause.
            config.pause_until = known.config.pause_until
            settle_metadata(config)
            if action == "create" and known.config != config:
                raise failure(ErrCode.CONSUMER_ALREADY_EXISTS)
            others = [it.config for it in self._consumers.values() if it is not known]
            check_partition(config, stream, others)
            settle_ending(config)
            self._actor_of(known).tell(Consumer.Update(config, request.reply))
            return
        if action == "update":
            raise failure(ErrCode.CONSUMER_DOES_NOT_EXIST)
        others = [it.config for it in self._consumers.values()]
        check_new(config, stream, others, self._consumers_max(stream))
        settle_ending(config)
        consumer = self._begin_consumer(self._link.next_consumer(), config, self._clock())
        consumer.tell(Consumer.Open(request.reply))

    def _take_assigned(
        self, message: Stream.StartConsumer | Stream.StopConsumer | Stream.ChangeConsumer
    ) -> None:
        match message:
            case Stream.StartConsumer():
                self._start_consumer(message)
            case Stream.ChangeConsumer(group, config, reply):
                self._change_consumer(group, config, reply)
            case Stream.StopConsumer(group, reply):
                self._stop_consumer(group, reply)

    def _start_consumer(self, request: Stream.StartConsumer) -> None:
        """Have a consumer; one that is there goes on, another one of its name ends first."""
        known = self._consumers.get(request.config.name)
        if known is not None and (known.is_ending or known.group != request.group):
            self._successors[request.config.name] = request
            return
        if known is not None:
            self._change_consumer(request.group, request.config, request.reply)
            return
        consumer = self._begin_consumer(
            self._link.next_consumer(),
            request.config,
            request.created_ns,
            group=request.group,
            replicas=request.replicas,
        )
        # Who is added to a group, or may have been in it, has a say when its leader says so.
        is_repaired = request.may_have_been or len(request.replicas) == 1
        self._consumers[request.config.name].is_repaired = bool(request.replicas) and is_repaired
        if self._adopting is None or not self._adopting.take(request.config.name, consumer):
            consumer.tell(Consumer.Open(request.reply))

    def _change_consumer(
        self, group: str, config: ConsumerConfig, reply: Reply[bytes | None]
    ) -> None:
        """Let a consumer follow what was decided of it; after a start it may have been before."""
        entry, successor = self._consumers.get(config.name), self._successors.get(config.name)
        if successor is not None and successor.group == group:
            self._successors[config.name] = structs.replace(successor, config=config)
        elif entry is not None and entry.group == group:
            self._actor_of(entry).tell(Consumer.Change(config, reply))

    def _stop_consumer(self, group: str, reply: Reply[bytes | None]) -> None:
        for name in [name for name, it in self._successors.items() if it.group == group]:
            del self._successors[name]
        entry = next((it for it in self._consumers.values() if it.group == group), None)
        if entry is not None and not entry.is_ending:
            entry.is_ending = True
            self._actor_of(entry).tell(Consumer.Request("consumer_delete", b"", reply))

    def _begin_consumer(
        self,
        number: int,
        config: ConsumerConfig,
        created_ns: int,
        *,
        group: str = "",
        replicas: tuple[int, ...] = (),
    ) -> ActorRef[Consumer]:
        """Have one more consumer, and its actor."""
        entry = self._add_consumer(number, config, created_ns, group=group, replicas=replicas)
        return self._actor_of(entry)

    def _add_consumer(
        self,
        number: int,
        config: ConsumerConfig,
        created_ns: int,
        *,
        group: str = "",
        replicas: tuple[int, ...] = (),
        is_logged: bool = False,
    ) -> ConsumerEntry:
        """Have one more consumer."""
        stream = self._entry.config
        entry = ConsumerEntry(
            number=number,
            stream=self._entry,
            stream_number=self._entry.number,
            stream_name=self._entry.config.name,
            config=config,
            created_ns=created_ns,
            group=group,
            replicas=replicas,
            is_logged=is_logged,
            is_leader=not replicas,
            burst_bytes=stream.max_msg_size if stream.max_msg_size > 0 else BURST_BYTES,
        )
        self._consumers[config.name] = entry
        self._link.listen(number, self.actor_ref, entry)
        return entry

    def _actor_of(self, entry: ConsumerEntry) -> ActorRef[Consumer]:
        """Return a consumer's actor; one that was read from the log has none until it is needed."""
        if entry.consumer is None:
            entry.consumer = self.spawn(
                Consumer,
                entry=entry,
                link=self._link,
                account=self._entry.account,
                host=self._host,
                advisories=self._advisories,
                clock=self._clock,
                ended=self._forget_consumer,
            )
        return entry.consumer

    def _tell_consumer(self, event: EngineEvent) -> None:
        """Pass on what the engine says of a consumer."""
        entry = self._consumers.get(event.about.config.name)
        if entry is not None and entry.number == event.about.number:
            self._actor_of(entry).tell(event)

    def _limits(self) -> JetStreamLimits:
        """Return what the account may have in streams like this one."""
        tiers = self._host.limits(self._entry.account) or {}
        return limits_for(tiers, self._entry.config.num_replicas)

    def _bounds(self) -> ConsumerBounds:
        """Return what a consumer may have at most."""
        return bounds_of(self._host.config.limits, self._limits())

    def _consumers_max(self, stream: StreamConfig) -> int:
        """Return how many consumers the stream may have; below 1: any number."""
        return consumers_max(stream, self._host.config.limits, self._limits())

    def _forget_consumer(self, entry: ConsumerEntry) -> None:
        if self._consumers.get(entry.config.name) is entry:
            del self._consumers[entry.config.name]
        successor = self._successors.pop(entry.config.name, None)
        if successor is not None:
            self._start_consumer(successor)

    def _pass_on(self, request: Stream.Request) -> None:
        entry = self._consumers.get(request.rest[0])
        if entry is None:
            raise failure(ErrCode.CONSUMER_NOT_FOUND)
        consumer = self._actor_of(entry)
        consumer.tell(Consumer.Request(request.kind, request.payload, request.reply))

    def _name_consumers(self, request: Stream.Request) -> None:
        wanted = read(PagedRequest, request.payload, is_strict=self._host.is_strict)
        paged = page(sorted(self._consumers), wanted.offset, NAMES_MAX, "consumers")
        request.reply.set(answer("consumer_names", paged))

    def _list_consumers(self, request: Stream.Request) -> None:
        wanted = read(PagedRequest, request.payload, is_strict=self._host.is_strict)
        entries = [entry for _, entry in sorted(self._consumers.items())]
        paged = page([], 0, LIST_MAX, "consumers")
        paged |= {"total": len(entries), "offset": min(max(wanted.offset, 0), len(entries))}
        shown = entries[paged["offset"] : paged["offset"] + LIST_MAX]
        infos: list[Any] = []

        def told(entry: ConsumerEntry, state: EngineAnswer) -> None:
            infos.append(plain(info_of(entry, state, self._clock())))
            if len(infos) == len(shown):
                request.reply.set(answer("consumer_list", {**paged, "consumers": infos}))

        for entry in shown:
            then = partial(told, entry)
            number = entry.number
            self._link.ask(self.actor_ref, Verb.CONSUMER_STATE, number, then=then)
        if not shown:
            request.reply.set(answer("consumer_list", paged))

    _HANDLERS: ClassVar[Mapping[str, Callable[[Stream, Request], None]]] = {
        "stream_create": _repeat_create,
        "stream_info": _info,
        "stream_update": _update,
        "stream_delete": _delete,
        "stream_purge": lambda self, request: self._messages.purge(request),
        "stream_msg_get": lambda self, request: self._messages.get(request),
        "stream_msg_delete": lambda self, request: self._messages.delete(request),
        "stream_snapshot": lambda self, request: self._sending.snapshot(request),
        "stream_export": lambda self, request: self._sending.export(request),
        "consumer_create": _create_consumer,
        "consumer_names": _name_consumers,
        "consumer_list": _list_consumers,
        "consumer_info": _pass_on,
        "consumer_delete": _pass_on,
        "consumer_pause": _pass_on,
        "consumer_reset": _pass_on,
        "consumer_unpin": _pass_on,
    }
    """By what is asked; one table for all streams."""


def _refuse_missing(_: Stream, __: Stream.Request) -> None:
    """Refuse what this version can't do."""
    raise failure(ErrCode.GENERIC, err="not available in this version")
