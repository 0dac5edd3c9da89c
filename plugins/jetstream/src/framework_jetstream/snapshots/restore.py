"""`Restore`: takes an archive piece by piece and makes a stream of it, or nothing at all.

The stream is there for nobody before the archive has come to its end and was right in all.

Source: nats-server `jetstream_api.go`, `processStreamRestore`; `stream_backup.go`,
`RestoreStreamV2`.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from typing_extensions import override

from framework.actors import Component, Reply
from framework.wire.s2 import Decoder
from framework_jetstream.api.answers import refused
from framework_jetstream.api.errors import ErrCode, failure
from framework_jetstream.api.saved import SavedStream, text_of
from framework_jetstream.api.times import text_from_ns
from framework_jetstream.engine.link import EngineAnswers
from framework_jetstream.engine.verbs import NOT_STORED, Verb
from framework_jetstream.snapshots.archive import ArchiveHead
from framework_jetstream.snapshots.problems import BadArchiveError, problem_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from framework.actors import Timer
    from framework_jetstream.advisories import Advisories
    from framework_jetstream.api.asker import Asker
    from framework_jetstream.api.records import StreamConfig
    from framework_jetstream.engine.link import EngineAnswer, EngineLink
    from framework_jetstream.exchange import Arrived, Exchange
    from framework_jetstream.snapshots.archive import ArchivedConsumer

IDLE_S: Final = 5.0
"""Without a piece for so long it is given up."""
FRAME_HEAD_BYTES: Final = 4
STORED_BYTES: Final = 512 * 1024
"""Bytes that the engine is given at a time; a message that has more is given whole."""
PIECES_BYTES_MAX: Final = 64 * 1024 * 1024
"""That wait to be taken. Who sends waits for acknowledgements before."""
UNREAD_MAX: Final = 2 * 1024 * 1024
"""Bytes of an entry beside its body."""
_UNLIMITED: Final = ("max_msgs", "max_bytes", "max_msgs_per_subject")


class Origin(Struct, frozen=True, kw_only=True):
    """Who restores a stream, and to what."""

    asker: Asker
    account_number: int
    config: StreamConfig
    limits: Mapping[str, int]
    """What of it decides on messages, for the engine."""
    number: int
    """By which the engine will know it."""
    created_ns: int
    subject: str
    """Where the pieces are sent."""
    body_max: int
    """Bytes of a message."""
    group: str = ""
    """Name of the group that the meta group is to assign; empty: it is this server's alone."""


class Restore(Component):
    """Take an archive.

    Args:
        origin: What is to be restored.
        link: The way to the engine.
        exchange: Takes the pieces, and acknowledges them.
        advisories: Told of the end.
        finish: Called with the consumers of a stream that is whole, and what is answered when it
            is there.
        begun: Called when pieces can come.
        given_up: Called when nothing is left of it.
        clock: Returns the Unix time in nanoseconds.
    """

    class _Pieces(Struct, frozen=True):
        messages: list[Arrived]

    class _Decoded(Struct, frozen=True):
        outcome: Any

    class _Idle(Struct, frozen=True):
        """Nothing has come for too long."""

    def __init__(
        self,
        *,
        origin: Origin,
        link: EngineLink,
        exchange: Exchange,
        advisories: Advisories,
        finish: Callable[[Origin, list[ArchivedConsumer], Reply[bytes | None]], object],
        begun: Callable[[], object],
        given_up: Callable[[Origin], object],
        clock: Callable[[], int],
    ) -> None:
        super().__init__()
        self._origin = origin
        self._link = link
        self._exchange = exchange
        self._advisories = advisories
        self._finish = finish
        self._begun = begun
        self._given_up = given_up
        self._clock = clock
        self._decoder = Decoder()
        self._head = ArchiveHead()
        self._pieces: deque[Arrived] = deque()
        self._frames = b""
        self._unread = b""
        self._is_open = self._is_working = self._has_ended = False
        self._bytes = self._stored_of = self._waiting_bytes = 0
        self._reply = ""
        """Of the piece that is being taken; empty: none is."""
        self._tag = 0
        self._timer: Timer | None = None

    @override
    def on_start(self) -> None:
        self._begun_ns = self._clock()
        origin, tell = self._origin, self.actor_ref.tell

        def take(messages: list[Arrived]) -> None:
            tell(Restore._Pieces(messages))

        self._tag = self._exchange.subscribe(origin.account_number, origin.subject, take)
        self._expect()
        self._begun()

    @override
    def on_stop(self) -> None:
        self._exchange.forget(self._tag)

    @override
    def on_receive(self, message: object) -> object:
        match message:
            case EngineAnswers():
                message.use()
            case Restore._Pieces(messages):
                self._take(messages)
            case Restore._Decoded(outcome):
                self._take_plain(outcome)
            case Restore._Idle():
                self._give_up("", f"restore for stream '{self._origin.config.name}' is stalled")
            case _:
                super().on_receive(message)
        return None

    def _take(self, messages: list[Arrived]) -> None:
        self._pieces += messages
        self._waiting_bytes += sum(len(it.payload) for it in messages)
        if self._waiting_bytes > PIECES_BYTES_MAX:
            self._give_up(self._reply, "chunks come without waiting for acknowledgements")
            return
        self._expect()
        self._go_on()

    def _expect(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.tell_later(IDLE_S, Restore._Idle())

    # -- one piece after the other ---------------------------------------------------------------

    def _go_on(self) -> None:
        """Decode the next frame, or take the next piece."""
        while not self._is_working:
            size = int.from_bytes(self._frames[1:FRAME_HEAD_BYTES], "little") + FRAME_HEAD_BYTES
            if len(self._frames) >= max(size, FRAME_HEAD_BYTES):
                frame, self._frames = self._frames[:size], self._frames[size:]
                self._is_working = True
                self.run_blocking(self._decoder.feed, frame, answer=Restore._Decoded)
                return
            if self._reply:
                self._acknowledge(b"")
            if not self._pieces:
                return
            piece = self._pieces.popleft()
            self._waiting_bytes -= len(piece.payload)
            if not piece.reply:
                self._give_up("", "requires reply subject for each chunk")
                return
            if not piece.payload:
                self._end(piece.reply)
                return
            self._reply = piece.reply
            self._bytes += len(piece.payload)
            self._frames += piece.payload

    def _acknowledge(self, answer: bytes) -> None:
        self._exchange.publish(self._origin.account_number, self._reply, answer)
        self._reply = ""

    def _take_plain(self, outcome: bytes | BaseException) -> None:
        try:
            if isinstance(outcome, BaseException):
                raise BadArchiveError(str(outcome)) from None  # noqa: TRY301 - as all
            self._unread += outcome if self._head.is_whole else self._head.feed(outcome)
            if self._has_ended and self._unread:
                raise BadArchiveError("archive: entries behind its end")  # noqa: TRY301 - as all
        except BadArchiveError as error:
            self._give_up(self._reply, str(error))
            return
        if not self._unread:
            self._is_working = False
            self._go_on()
            return
        self._open()
        self._store(STORED_BYTES)

    def _store(self, length_bytes: int) -> None:
        """Let the engine store what is whole of the next bytes."""
        state = self._head.state
        assert state is not None
        self._stored_of = length_bytes
        self._link.ask(
            self.actor_ref,
            Verb.RESTORE_ARCHIVE,
            self._origin.number,
            numbers=(self._origin.body_max, state.last_seq),
            first=self._unread[:length_bytes],
            then=self._take_stored,
        )

    def _open(self) -> None:
        """Open the stream in the engine, without subjects and limits."""
        if self._is_open:
            return
        self._is_open = True
        config, state = self._origin.config, self._head.state
        assert state is not None
        limits: Mapping[str, int] = {
            **self._origin.limits,
            **dict.fromkeys(_UNLIMITED, -1),
            "max_age_ns": 0,
            "allow_direct": False,
        }
        is_file = config.storage == "file"
        account, created_ns = self._origin.asker.account, self._origin.created_ns
        group = self._origin.group
        saved = SavedStream(account, created_ns, config, is_unfinished=True, group=group)
        self._link.ask(
            self.actor_ref,
            Verb.OPEN_STREAM,
            self._origin.number,
            numbers=(self._origin.account_number, is_file, state.first_seq),
            limits=limits,
            first=config.name.encode(),
            third=text_of(saved) if is_file else b"",
            then=self._hear_opened,
        )

    def _hear_opened(self, told: EngineAnswer) -> None:
        if told.status:
            self._give_up(self._reply, NOT_STORED)

    def _take_stored(self, told: EngineAnswer) -> None:
        taken, has_ended, problem, seq, count = told.numbers[:5]
        assert self._head.state is not None
        size = self._stored_of
        is_cut = len(self._unread) > size
        self._unread = self._unread[taken:]
        self._has_ended = bool(has_ended)
        if told.status or problem:
            words = str(problem_of(problem, seq % 2**64)) if problem else NOT_STORED
            self._give_up(self._reply, words)
        elif count > self._head.state.messages:
            self._give_up(self._reply, "invalid stream state: there are more messages")
        elif self._has_ended and self._unread:
            self._give_up(self._reply, "archive: entries behind its end")
        elif is_cut:
            self._store(size if taken else size * 2)
        elif len(self._unread) > self._origin.body_max + UNREAD_MAX:
            self._give_up(self._reply, "archive: invalid archive stream")
        else:
            self._is_working = False
            self._go_on()

    # -- the end ---------------------------------------------------------------------------------

    def _end(self, reply: str) -> None:
        """Hand the stream over, if nothing is missing."""
        if not self._has_ended or self._frames or self._unread:
            self._give_up(reply, "backup was truncated")
            return
        self._tell_end()
        consumers = [it for _, it in self._head.consumers]
        made = Reply[bytes | None]()
        number, exchange = self._origin.account_number, self._exchange
        made.when_done(lambda it: exchange.publish(number, reply, it.get() or b""))
        self._finish(self._origin, consumers, made)
        self.stop()

    def _give_up(self, reply: str, problem: str) -> None:
        """Leave nothing of the stream, and say why."""
        if self._is_open:
            number = self._origin.number
            self._link.ask(self.actor_ref, Verb.CLOSE_STREAM, number, then=lambda _: None)
        self._given_up(self._origin)
        self._tell_end()
        if reply:
            self._reply = reply
            error = failure(ErrCode.STREAM_RESTORE, err=problem).error
            self._acknowledge(refused("stream_create", error))
        self.stop()

    def _tell_end(self) -> None:
        origin, name = self._origin, self._origin.config.name
        fields = {
            "stream": name,
            "start": text_from_ns(self._begun_ns),
            "end": text_from_ns(self._clock()),
            "bytes": self._bytes,
            "client": origin.asker.client,
        }
        subject = f"STREAM.RESTORE_COMPLETE.{name}"
        self._advisories.say(origin.asker.account, subject, "restore_complete", fields)
