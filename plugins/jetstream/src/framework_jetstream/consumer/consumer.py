"""`Consumer`: one consumer's configuration, and what its API answers; the engine delivers.

Size: one handler for each request, and for each thing that the engine tells.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct
from typing_extensions import override

from framework.actors import Component, Reply
from framework.wire.version import JETSTREAM_API_LEVEL, NATS_VERSION
from framework_jetstream.api.answers import answer, refused
from framework_jetstream.api.errors import ApiFailure, ErrCode, failure
from framework_jetstream.api.records import (
    ConsumerConfig,
    ConsumerInfo,
    ConsumerPauseRequest,
    ConsumerResetRequest,
    ConsumerUnpinRequest,
    PriorityGroupState,
    SequenceInfo,
    plain,
)
from framework_jetstream.api.requests import is_empty_request, read
from framework_jetstream.api.times import ZERO, ns_from_text, text_from_ns
from framework_jetstream.consumer.configuring import is_logged, tell_engine
from framework_jetstream.consumer.consumer_advisories import ConsumerAdvisories
from framework_jetstream.consumer.rules import check_group, check_update, settle_metadata
from framework_jetstream.engine.link import EngineAnswers, EngineEvent
from framework_jetstream.engine.moving import LATER_S, Moving, share
from framework_jetstream.engine.verbs import NOT_STORED, Event, GroupOf, Verb
from framework_jetstream.meta.answering import HANDED_OVER_NS
from framework_jetstream.meta.peers import group_number, number_of
from framework_jetstream.meta.view import group_state
from framework_jetstream.snapshots.consumers import engine_state

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework_jetstream.advisories import Advisories
    from framework_jetstream.consumer.entry import ConsumerEntry
    from framework_jetstream.engine.link import EngineAnswer, EngineLink
    from framework_jetstream.host import Host
    from framework_jetstream.meta.assignments import Group
    from framework_jetstream.snapshots.archive import ConsumerState


ASKED_NS: Final = 10_000_000_000
"""So long who has asked for a stream or consumer may wait for whoever leads it first."""
_CHANGED_NS: Final = 3_000_000_000
"""So long who has asked for a change may wait for whoever leads next: more than two elections."""
_CHANGES_MAX: Final = 64
"""Who wait for that; the first go."""
_RETIRE_S: Final = 5.0
"""After which the meta leader is told again that nobody uses a consumer."""
_RESET_REFUSALS: Final = {3: "below start seq", 4: "below start time", 5: "not allowed"}
"""Statuses of the engine."""


class Consumer(Component):
    """Own one consumer: answer the requests about it, and command the engine.

    Args:
        entry: What its stream knows of it; its configuration is changed here.
        link: The way to the engine.
        account: Whose it is.
        host: The server.
        advisories: Publishes what happens.
        clock: Returns the Unix time in nanoseconds.
        ended: Called when it is gone.
    """

    class Request(Struct, frozen=True):
        """A request of the API about this consumer."""

        kind: str
        payload: bytes
        reply: Reply[bytes | None]

    class Open(Struct, frozen=True):
        """Make it in the engine."""

        reply: Reply[bytes | None]

    class Update(Struct, frozen=True):
        """Change its configuration, which makes sense by itself."""

        config: ConsumerConfig
        reply: Reply[bytes | None]

    class Change(Struct, frozen=True):
        """Be as was decided for all its servers: its configuration, or who has it."""

        config: ConsumerConfig
        reply: Reply[bytes | None]
        """Set by who leads it."""

    class Retire(Struct, frozen=True):
        """Say once more that nobody uses it, while it is there."""

    class Later(Struct, frozen=True):
        """Something that was to be done after a while."""

        then: Callable[[], object]

    class Adopt(Struct, frozen=True):
        """Make it in the engine, and go on where it stood."""

        state: ConsumerState
        reply: Reply[bytes | None]
        """Set when it is there."""

    def __init__(
        self,
        *,
        entry: ConsumerEntry,
        link: EngineLink,
        account: str,
        host: Host,
        advisories: Advisories,
        clock: Callable[[], int],
        ended: Callable[[ConsumerEntry], None],
    ) -> None:
        super().__init__()
        self._entry = entry
        self._link = link
        self._host = host
        self._advisories = ConsumerAdvisories(
            advisories, account, entry.stream_name, entry.config.name
        )
        self._clock = clock
        self._ended = ended
        self._asked: Reply[bytes | None] | None = None
        self._changes: list[tuple[int, Reply[bytes | None]]] = []
        """When it was changed while another server led it, and who waits for an answer."""
        self._moving: Moving | None = None

    @override
    def on_receive(self, message: object) -> object:
        match message:
            case EngineAnswers():
                message.use()
            case Consumer.Open(reply):
                self._open(reply)
            case Consumer.Adopt() | Consumer.Update() | Consumer.Change():
                self._take_config(message)
            case Consumer.Request():
                try:
                    self._answer(message)
                except ApiFailure as refusal:
                    message.reply.set(refused(message.kind, refusal.error))
            case Consumer.Later() | Consumer.Retire():
                message.then() if isinstance(message, Consumer.Later) else self._retire()
            case EngineEvent():
                self._hear_engine(message)
            case _:
                super().on_receive(message)
        return None

    def _answer(self, request: Consumer.Request) -> None:
        """Do what is asked, and answer; raises ApiFailure."""
        match request.kind:
            case "consumer_info" | "consumer_create" as kind:
                self._ask(Verb.CONSUMER_STATE, partial(self._say, kind, request.reply))
            case "consumer_delete":
                self._delete(request)
            case "consumer_pause":
                self._pause(request)
            case "consumer_reset":
                self._reset(request)
            case "consumer_unpin":
                self._unpin(request)

    def _take_config(self, message: Consumer.Adopt | Consumer.Update | Consumer.Change) -> None:
        match message:
            case Consumer.Adopt(state, reply):
                self._adopt(state, reply)
            case Consumer.Update():
                self._update(message)
            case Consumer.Change(config, reply):
                self._follow_change(config, reply)

    @override
    def on_stop(self) -> None:
        self._link.forget(self._entry.number)

    def _ask(self, verb: Verb, then: Callable[[EngineAnswer], object], **more: Any) -> None:
        self._link.ask(self.actor_ref, verb, self._entry.number, then=then, **more)

    # -- opening and changing --------------------------------------------------------------------

    def _open(self, reply: Reply[bytes | None]) -> None:
        def opened(told: EngineAnswer) -> None:
            if told.status:
                error = failure(ErrCode.CONSUMER_STORE_FAILED, err=NOT_STORED).error
                self._end(lambda: reply.set(refused("consumer_create", error)))
            elif not self._entry.replicas:
                self._say("consumer_create", reply, told)
                if self._paused_until_ns() > self._clock():
                    self._tell_pause()

        if self._entry.replicas:
            # Who leads it answers: maybe this server, before its engine has said that it is open.
            self._asked = reply
        else:
            self._advisories.created()
        self._command(Verb.OPEN_CONSUMER, opened)

    def _lead(self) -> None:
        """Answer for it from now on; who has asked for it is answered when it is first led."""
        self._entry.is_leader = True
        self._look()
        self._entry.leads_since_ns = self._clock()
        self._entry.led_from_ns = time.monotonic_ns() + HANDED_OVER_NS
        self._ask(Verb.GROUP_STATE, self._say_elected, numbers=(GroupOf.CONSUMER,))
        self._answer_changes()
        reply, self._asked = self._asked, None
        if reply is None or self._clock() - self._entry.created_ns > ASKED_NS:
            return
        self._advisories.created()
        self._ask(Verb.CONSUMER_STATE, partial(self._say, "consumer_create", reply))

    def _answer_changes(self) -> None:
        """Answer in place of a leader that may have died of a change, or just before."""
        changes, self._changes = self._changes, []
        for asked_ns, reply in changes:
            if self._clock() - asked_ns <= _CHANGED_NS:
                self._ask(Verb.CONSUMER_STATE, partial(self._say, "consumer_create", reply))

    def _leave_to_leader(self, reply: Reply[bytes | None]) -> None:
        """Let who leads it answer; this server, if it does so next."""
        self._changes = [*self._changes, (self._clock(), reply)][-_CHANGES_MAX:]

    def _say_elected(self, told: EngineAnswer) -> None:
        """Let who listens know that this server leads it now."""
        entry, told_of = self._entry, (told.numbers, told.data)
        if not told.status and not group_state(*told_of).is_handed_over:
            entry.led_from_ns = min(entry.led_from_ns, time.monotonic_ns())
        asset = (entry.stream.account, entry.stream_name, entry.config.name)
        cluster = self._host.cluster_of(asset, told_of, entry.leads_since_ns)
        if cluster is not None and not told.status and entry.is_leader:
            self._advisories.elected(self._host.system_account(), cluster)

    def _follow(self) -> None:
        self._entry.is_leader = False
        self._entry.leads_since_ns = 0
        self._asked = None

    # -- who has it ------------------------------------------------------------------------------

    @property
    def _asset(self) -> tuple[str, str, str]:
        entry = self._entry
        return entry.stream.account, entry.stream_name, entry.config.name

    def _later(self, delay_s: float, then: Callable[[], object]) -> None:
        self.tell_later(delay_s, Consumer.Later(then))

    def _look(self) -> None:
        """Do what is due: let others have it too, or have it no more.

        The members of its group are changed where that is led, though it may wait for its stream.
        """
        entry = self._entry
        if not entry.is_leader:
            if entry.replicas:
                self._move().look()
            return
        if not entry.group:
            return
        found = self._host.assigned(self._asset)
        if found is None:
            self._later(LATER_S, self._look)
        elif entry.replicas:
            self._move().look()
        elif found.group.target:
            self._share(found.group)

    def _move(self) -> Moving:
        """Return what brings its members to those of its assignment."""
        if self._moving is None:
            self._moving = Moving(
                of=GroupOf.CONSUMER,
                ask=lambda verb, numbers, then: self._ask(verb, then, numbers=numbers),
                assigned=lambda: self._host.assigned(self._asset),
                moved=lambda created_ns, who: self._host.moved(self._asset, created_ns, who),
                later=self._later,
            )
        return self._moving

    def _share(self, group: Group) -> None:
        """Let other servers be added to a consumer that only this one has."""
        share(
            self._entry,
            (group_number(group.name), number_of(self._host.peer)),
            is_logged=is_logged(self._entry),
            ask_open=partial(self._command, Verb.OPEN_CONSUMER),
            refused=partial(self._later, LATER_S, self._look),
        )

    def _command(self, verb: Verb, then: Callable[[EngineAnswer], object]) -> None:
        """Let the engine have the configuration."""
        tell_engine(self._entry, verb, self._link, self.actor_ref, then)

    def _adopt(self, state: ConsumerState, reply: Reply[bytes | None]) -> None:
        numbers, waiting = engine_state(state)

        def restored(_: EngineAnswer) -> None:
            reply.set(None)

        made = Reply[bytes | None]()
        made.when_done(
            lambda _: self._ask(Verb.RESTORE_CONSUMER, restored, numbers=numbers, first=waiting)
        )
        self._open(made)

    def _update(self, request: Consumer.Update) -> None:
        def change(told: EngineAnswer | None) -> None:
            has_interest = told is not None and bool(told.numbers[8])
            try:
                check_update(self._entry.config, request.config, has_interest=has_interest)
            except ApiFailure as refusal:
                request.reply.set(refused("consumer_create", refusal.error))
                return
            self._change(
                request.config,
                "consumer_create",
                request.reply,
                lambda told: self._say_updated(request.reply, told),
            )

        if self._entry.config.deliver_subject == request.config.deliver_subject:
            change(None)
        else:
            self._ask(Verb.CONSUMER_STATE, change)

    def _follow_change(self, config: ConsumerConfig, reply: Reply[bytes | None]) -> None:
        """Have another configuration; who leads it says so, before others are to have it too."""
        if config == self._entry.config:
            self._say_repeated(reply)
            self._look()
            return
        before_ns = self._paused_until_ns()

        def changed(told: EngineAnswer) -> None:
            if not self._entry.is_leader:
                self._leave_to_leader(reply)
                return
            if self._paused_until_ns() != before_ns:
                self._tell_pause()
            self._say_updated(reply, told)
            self._look()

        self._change(config, "consumer_create", reply, changed)

    def _say_repeated(self, reply: Reply[bytes | None]) -> None:
        """Answer who asked for what there is."""
        if self._entry.is_leader:
            self._ask(Verb.CONSUMER_STATE, partial(self._say_updated, reply))
        else:
            self._leave_to_leader(reply)

    def _say_updated(self, reply: Reply[bytes | None], told: EngineAnswer) -> None:
        """Answer; a consumer of a stream elsewhere begins again behind what was acknowledged."""
        if self._entry.config.sourcing:
            then = partial(self._say, "consumer_create", reply)
            self._ask(Verb.RESET_CONSUMER, then, numbers=(0,))
        else:
            self._say("consumer_create", reply, told)

    def _change(
        self,
        config: ConsumerConfig,
        kind: str,
        reply: Reply[bytes | None],
        then: Callable[[EngineAnswer], object],
    ) -> None:
        """Let a configuration hold, as far as the log can have it."""
        before = self._entry.config
        self._entry.config = config

        def changed(told: EngineAnswer) -> None:
            if told.status:
                self._entry.config = before
                error = failure(ErrCode.CONSUMER_STORE_FAILED, err=NOT_STORED).error
                reply.set(refused(kind, error))
                self._look()
            else:
                then(told)

        self._command(Verb.UPDATE_CONSUMER, changed)

    def _pause(self, request: Consumer.Request) -> None:
        wanted = read(ConsumerPauseRequest, request.payload, is_strict=self._host.is_strict)
        until_ns = time_from_request(wanted.pause_until)
        config = msgspec.structs.replace(self._entry.config)
        config.pause_until = text_from_ns(until_ns) if until_ns else None
        settle_metadata(config)
        before_ns = self._paused_until_ns()

        def finish(_: EngineAnswer) -> None:
            if until_ns != before_ns:
                self._tell_pause()
            left_ns = max(until_ns - self._clock(), 0)
            fields = {"paused": left_ns > 0, "pause_until": text_from_ns(until_ns)}
            also = {"pause_remaining": left_ns} if left_ns else {}
            request.reply.set(answer("consumer_pause", {**fields, **also}))

        self._change(config, "consumer_pause", request.reply, finish)

    def _paused_until_ns(self) -> int:
        until = self._entry.config.pause_until
        return ns_from_text(until) if until else 0

    def _reset(self, request: Consumer.Request) -> None:
        wanted = read(ConsumerResetRequest, request.payload, is_strict=self._host.is_strict)

        def finish(told: EngineAnswer) -> None:
            if told.status in _RESET_REFUSALS:
                error = failure(ErrCode.CONSUMER_INVALID_RESET, err=_RESET_REFUSALS[told.status])
                request.reply.set(refused("consumer_reset", error.error))
            else:
                self._say("consumer_reset", request.reply, told, reset_seq=told.numbers[12])

        self._ask(Verb.RESET_CONSUMER, finish, numbers=(wanted.seq,))

    def _unpin(self, request: Consumer.Request) -> None:
        wanted = read(ConsumerUnpinRequest, request.payload, is_strict=self._host.is_strict)
        if not wanted.group:
            raise failure(ErrCode.INVALID_JSON, err="consumer group not specified")
        check_group(wanted.group)
        if wanted.group not in (self._entry.config.priority_groups or ()):
            raise failure(ErrCode.CONSUMER_UNKNOWN_GROUP)

        def finish(_: EngineAnswer) -> None:
            self._advisories.unpinned(wanted.group, "admin")
            request.reply.set(answer("consumer_unpin", {}))

        self._ask(Verb.UNPIN_CONSUMER, finish)

    # -- ending ----------------------------------------------------------------------------------

    def _delete(self, request: Consumer.Request) -> None:
        if not is_empty_request(request.payload):
            raise failure(ErrCode.NOT_EMPTY_REQUEST)
        self._end(lambda: request.reply.set(answer("consumer_delete", {"success": True})))

    def _end(self, then: Callable[[], object]) -> None:
        def end(_: EngineAnswer) -> None:
            if self._entry.is_leader:
                self._advisories.deleted()
            self._ended(self._entry)
            then()
            self.stop()

        self._ask(Verb.CLOSE_CONSUMER, end)

    def _retire(self) -> None:
        """End, for nobody has used it for too long; of a cluster the meta leader decides that."""
        entry = self._entry
        if not entry.group:
            self._end(lambda: None)
        elif entry.is_leader:
            account = entry.stream.account
            self._host.retire(account, entry.stream_name, entry.config.name, entry.created_ns)
            self.tell_later(_RETIRE_S, Consumer.Retire())

    def _hear_engine(self, event: EngineEvent) -> None:
        """Do what follows from what the engine has seen, or let who listens know of it."""
        match event.kind:
            case Event.INACTIVE:
                self._retire()
            case Event.LEADS:
                self._lead()
            case Event.FOLLOWS:
                self._follow()
            case Event.WAITS:
                self._look()
            case Event.REPAIRS:
                self._entry.is_repaired = bool(event.numbers[0])
            case Event.RESUMED:
                self._tell_pause()
            case Event.PINNED:
                self._advisories.pinned(*event.data.decode().split("\n"))
            case Event.UNPINNED:
                self._advisories.unpinned(event.data.decode(), "timeout")

    def _tell_pause(self) -> None:
        self._advisories.paused(self._entry.config.pause_until, self._clock())

    # -- saying how it is ------------------------------------------------------------------------

    def _say(self, kind: str, reply: Reply[bytes | None], told: EngineAnswer, **more: int) -> None:
        entry = self._entry
        if told.status:  # another server leads it by now
            reply.set(refused(kind, failure(ErrCode.CLUSTER_NOT_AVAILABLE).error))
            return

        def say(group: EngineAnswer | None) -> None:
            info = info_of(entry, told, self._clock())
            asset = (entry.stream.account, entry.stream_name, entry.config.name)
            state = (group.numbers, group.data) if group is not None else None
            info.cluster = self._host.cluster_of(asset, state, entry.leads_since_ns)
            reply.set(answer(kind, {**plain(info), **more}))

        if entry.replicas:
            self._ask(Verb.GROUP_STATE, say, numbers=(GroupOf.CONSUMER,))
        else:
            say(None)


def info_of(entry: ConsumerEntry, told: EngineAnswer, now_ns: int) -> ConsumerInfo:
    """Return a consumer as the API shows it, from what the engine says of it."""
    numbers = told.numbers
    until_ns = ns_from_text(entry.config.pause_until) if entry.config.pause_until else 0
    return ConsumerInfo(
        stream_name=entry.stream_name,
        name=entry.config.name,
        created=text_from_ns(entry.created_ns),
        config=_with_levels(entry.config),
        delivered=SequenceInfo(
            consumer_seq=numbers[0], stream_seq=numbers[1], last_active=_time_or_none(numbers[9])
        ),
        ack_floor=SequenceInfo(
            consumer_seq=numbers[2], stream_seq=numbers[3], last_active=_time_or_none(numbers[10])
        ),
        num_ack_pending=numbers[4],
        num_redelivered=numbers[5],
        num_waiting=numbers[6],
        num_pending=numbers[7],
        push_bound=bool(entry.config.deliver_subject and numbers[8]),
        paused=until_ns > now_ns,
        pause_remaining=max(until_ns - now_ns, 0),
        ts=text_from_ns(now_ns),
        priority_groups=_groups(entry.config, told),
    )


def _groups(config: ConsumerConfig, told: EngineAnswer) -> list[PriorityGroupState] | None:
    """Return the priority group that has a state: the first one, as with nats-server."""
    if not config.priority_groups:
        return None
    pinned = PriorityGroupState(
        group=config.priority_groups[0],
        pinned_client_id=told.data.decode(),
        pinned_ts=text_from_ns(told.numbers[11]),
    )
    return [pinned]


def time_from_request(text: str) -> int:
    """Return the Unix time that a request says, 0: none; raises ApiFailure."""
    try:
        return ns_from_text(text or ZERO)
    except ValueError as error:
        raise failure(ErrCode.INVALID_JSON, err=error) from None


def _time_or_none(unix_ns: int) -> str:
    return text_from_ns(unix_ns) if unix_ns else ""


def _with_levels(config: ConsumerConfig) -> ConsumerConfig:
    metadata = {
        **(config.metadata or {}),
        "_nats.level": str(JETSTREAM_API_LEVEL),
        "_nats.ver": NATS_VERSION,
    }
    return msgspec.structs.replace(config, metadata=dict(sorted(metadata.items())))
