"""`Consumer`: one consumer's configuration, and what its API answers; the engine delivers."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

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
    SequenceInfo,
    plain,
)
from framework_jetstream.api.requests import is_empty_request
from framework_jetstream.api.saved import SavedConsumer, text_of
from framework_jetstream.api.times import text_from_ns
from framework_jetstream.consumer.rules import check_update, filters_of, numbers_of
from framework_jetstream.engine.link import EngineAnswers
from framework_jetstream.engine.verbs import NOT_STORED, Verb
from framework_jetstream.snapshots.consumers import engine_state

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework.actors import ActorRef
    from framework_jetstream.advisories import Advisories
    from framework_jetstream.engine.link import EngineAnswer, EngineLink
    from framework_jetstream.host import Host
    from framework_jetstream.snapshots.archive import ConsumerState
    from framework_jetstream.stream.book import StreamEntry


class ConsumerEntry(Struct, kw_only=True):
    """A consumer, as its stream sees it."""

    number: int
    """By which the engine knows it."""
    stream: StreamEntry
    stream_number: int
    stream_name: str
    config: ConsumerConfig
    created_ns: int
    consumer: ActorRef[Any] | None = None


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
        is_new: bool = True
        """Whether it was not read from the log."""

    class Update(Struct, frozen=True):
        """Change its configuration, which makes sense by itself."""

        config: ConsumerConfig
        reply: Reply[bytes | None]

    class Adopt(Struct, frozen=True):
        """Make it in the engine, and go on where it stood."""

        state: ConsumerState

    class Unused(Struct, frozen=True):
        """Nobody has used it for as long as it may be unused."""

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
        self._account = account
        self._host = host
        self._advisories = advisories
        self._clock = clock
        self._ended = ended

    @override
    def on_receive(self, message: object) -> object:
        match message:
            case EngineAnswers():
                message.use()
            case Consumer.Open(reply, is_new):
                self._open(reply, is_new=is_new)
            case Consumer.Adopt(state):
                self._adopt(state)
            case Consumer.Update():
                self._update(message)
            case Consumer.Request():
                self._take(message)
            case Consumer.Unused():
                self._end(lambda: None)
            case _:
                super().on_receive(message)
        return None

    @override
    def on_stop(self) -> None:
        self._link.forget(self._entry.number)

    def _ask(self, verb: Verb, then: Callable[[EngineAnswer], object], **more: Any) -> None:
        self._link.ask(self.actor_ref, verb, self._entry.number, then=then, **more)

    def _take(self, request: Consumer.Request) -> None:
        if request.kind == "consumer_info":
            self._answer_info("consumer_info", request.reply)
        elif is_empty_request(request.payload):
            self._end(lambda: request.reply.set(answer("consumer_delete", {"success": True})))
        else:
            error = failure(ErrCode.NOT_EMPTY_REQUEST).error
            request.reply.set(refused("consumer_delete", error))

    def _saved(self, config: ConsumerConfig) -> bytes:
        """Return what the log is to know of the consumer; empty: it is in memory only."""
        entry = self._entry
        stream = entry.stream
        if stream.config.storage != "file" or config.mem_storage:
            return b""
        return text_of(
            SavedConsumer(
                stream.account, entry.stream_name, stream.created_ns, entry.created_ns, config
            )
        )

    def _open(self, reply: Reply[bytes | None], *, is_new: bool = True) -> None:
        config = self._entry.config
        self._link.listen(self._entry.number, self.actor_ref, Consumer.Unused())

        def opened(told: EngineAnswer) -> None:
            if told.status:
                error = failure(ErrCode.CONSUMER_STORE_FAILED, err=NOT_STORED).error
                self._end(lambda: reply.set(refused("consumer_create", error)))
            else:
                self._say("consumer_create", reply, told)

        if is_new:
            self._tell("create")
        self._ask(
            Verb.OPEN_CONSUMER,
            opened,
            numbers=numbers_of(config, self._entry.stream_number),
            first="\n".join([config.name, *filters_of(config)]).encode(),
            second=self._target(config),
            third=self._saved(config),
        )

    def _adopt(self, state: ConsumerState) -> None:
        numbers, waiting = engine_state(state)
        made = Reply[bytes | None]()
        made.when_done(
            lambda _: self._ask(
                Verb.RESTORE_CONSUMER, lambda _: None, numbers=numbers, first=waiting
            )
        )
        self._open(made)

    @staticmethod
    def _target(config: ConsumerConfig) -> bytes:
        backoff = config.backoff or []
        return config.deliver_subject.encode() + b"\n" + struct.pack(f"={len(backoff)}q", *backoff)

    def _update(self, request: Consumer.Update) -> None:
        try:
            check_update(self._entry.config, request.config)
        except ApiFailure as refusal:
            request.reply.set(refused("consumer_create", refusal.error))
            return
        before = self._entry.config
        self._entry.config = request.config

        def changed(told: EngineAnswer) -> None:
            if told.status:
                self._entry.config = before
                error = failure(ErrCode.CONSUMER_STORE_FAILED, err=NOT_STORED).error
                request.reply.set(refused("consumer_create", error))
            else:
                self._say("consumer_create", request.reply, told)

        self._ask(
            Verb.UPDATE_CONSUMER,
            changed,
            numbers=numbers_of(request.config, self._entry.stream_number),
            first="\n".join([request.config.name, *filters_of(request.config)]).encode(),
            second=self._target(request.config),
            third=self._saved(request.config),
        )

    def _end(self, then: Callable[[], object]) -> None:
        def end(_: EngineAnswer) -> None:
            self._tell("delete")
            self._ended(self._entry)
            then()
            self.stop()

        self._ask(Verb.CLOSE_CONSUMER, end)

    def _tell(self, action: str) -> None:
        """Let who listens know what happens to the consumer."""
        stream, name = self._entry.stream_name, self._entry.config.name
        self._advisories.say_consumer(self._account, stream, name, action)

    def _answer_info(self, kind: str, reply: Reply[bytes | None]) -> None:
        self._ask(Verb.CONSUMER_STATE, lambda told: self._say(kind, reply, told))

    def _say(self, kind: str, reply: Reply[bytes | None], told: EngineAnswer) -> None:
        info = info_of(self._entry, told, self._clock())
        reply.set(answer(kind, plain(info)))


def info_of(entry: ConsumerEntry, told: EngineAnswer, now_ns: int) -> ConsumerInfo:
    """Return a consumer as the API shows it, from what the engine says of it."""
    numbers = told.numbers
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
        ts=text_from_ns(now_ns),
    )


def _time_or_none(unix_ns: int) -> str:
    return text_from_ns(unix_ns) if unix_ns else ""


def _with_levels(config: ConsumerConfig) -> ConsumerConfig:
    metadata = {
        **(config.metadata or {}),
        "_nats.level": str(JETSTREAM_API_LEVEL),
        "_nats.ver": NATS_VERSION,
    }
    return msgspec.structs.replace(config, metadata=dict(sorted(metadata.items())))
