"""`Snapshot`: sends one stream as an archive, piece by piece, as fast as they are acknowledged.

Source: nats-server `jetstream_api.go`, `jsStreamSnapshotRequest`, `streamSnapshot`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from typing_extensions import override

from framework.actors import Component
from framework.wire.s2 import Encoder
from framework_jetstream.api.times import text_from_ns
from framework_jetstream.engine.link import EngineAnswers
from framework_jetstream.engine.verbs import Verb
from framework_jetstream.snapshots.archive import END

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework.actors import Reply, Timer
    from framework_jetstream.advisories import Advisories
    from framework_jetstream.api.asker import Asker
    from framework_jetstream.engine.link import EngineAnswer, EngineLink
    from framework_jetstream.exchange import Arrived, Exchange
    from framework_jetstream.exports.places import Places

CHUNK_BYTES: Final = 128 * 1024
WINDOW_BYTES: Final = 8 * 1024 * 1024
ACK_TIMEOUT_S: Final = 5.0
INTEREST_TIMEOUT_S: Final = 2.0
LOOK_S: Final = 0.004
"""Until it is looked again who listens; each time it is twice as long."""
READ_BYTES: Final = 256 * 1024
"""Of messages that are asked of the engine at a time."""


def sizes(chunk: int, window: int) -> tuple[int, int]:
    """Return the bytes of a chunk, and how many chunks may be on their way."""
    chunk = min(max(chunk or CHUNK_BYTES, 1024), 1024 * 1024)
    window = min(max(window or WINDOW_BYTES, 1024), 32 * 1024 * 1024)
    return chunk, max(window, chunk) // chunk


class Target(Struct, frozen=True, kw_only=True):
    """Where a snapshot goes."""

    account: str
    account_number: int
    subject: str
    asker: Asker
    chunk_bytes: int
    chunks_max: int


class Snapshot(Component):
    """Send an archive.

    Args:
        stream: Name of the stream.
        number: By which the engine knows it.
        head: The archive up to its messages.
        range_: First and last sequence of its messages.
        target: Where it goes.
        ack_subject: Where its pieces are acknowledged, without the last tokens.
        link: The way to the engine.
        exchange: Publishes in the account.
        advisories: Told of the end.
        places: Gets back the place that this snapshot has.
        listens: Returns whether somebody here has subscribed to just this subject.
        clock: Returns the Unix time in nanoseconds.
    """

    class _Acknowledged(Struct, frozen=True):
        count: int

    class _Heard(Struct, frozen=True):
        is_somebody: bool

    class _Encoded(Struct, frozen=True):
        outcome: Any

    class _Looked(Struct, frozen=True):
        is_there: Any

    class _LookAgain(Struct, frozen=True):
        """Perhaps somebody listens by now."""

    class _Late(Struct, frozen=True):
        """Nobody has acknowledged anything for too long."""

    def __init__(
        self,
        *,
        stream: str,
        number: int,
        head: bytes,
        range_: tuple[int, int],
        target: Target,
        ack_subject: str,
        link: EngineLink,
        exchange: Exchange,
        advisories: Advisories,
        places: Places,
        listens: Callable[[int, str], Reply[bool]],
        clock: Callable[[], int],
    ) -> None:
        super().__init__()
        self._stream = stream
        self._number = number
        self._unencoded = head
        self._next, self._last = range_
        self._target = target
        self._ack_subject = ack_subject
        self._link = link
        self._exchange = exchange
        self._advisories = advisories
        self._places: Places | None = places
        self._listens = listens
        self._look_s = LOOK_S
        self._clock = clock
        self._encoder = Encoder()
        self._ready = bytearray()
        """Encoded bytes that were not sent yet."""
        self._is_read = self._is_working = self._has_begun = False
        self._room = target.chunks_max
        self._sent = 0
        self._tags: list[int] = []
        self._timer: Timer | None = None

    @override
    def on_start(self) -> None:
        self._begun_ns = self._clock()
        number, tell = self._target.account_number, self.actor_ref.tell

        def acknowledged(messages: list[Arrived]) -> None:
            tell(Snapshot._Acknowledged(len(messages)))

        def heard(is_somebody: bool) -> None:  # noqa: FBT001 - as an exchange tells it
            tell(Snapshot._Heard(is_somebody))

        self._tags = [
            self._exchange.subscribe(number, f"{self._ack_subject}.>", acknowledged),
            self._exchange.watch(number, self._target.subject, heard),
        ]
        self._look()
        self._work()

    @override
    def on_stop(self) -> None:
        if self._places is not None:
            self._places.give_back()
            self._places = None
        for tag in self._tags:
            self._exchange.forget(tag)

    @override
    def on_receive(self, message: object) -> object:
        match message:
            case EngineAnswers():
                message.use()
            case Snapshot._Acknowledged(count):
                self._room = min(self._room + count, self._target.chunks_max)
                self._send()
            case Snapshot._Heard(is_somebody):
                self._hear(is_somebody=is_somebody)
            case Snapshot._Encoded(outcome):
                self._take_encoded(outcome)
            case Snapshot._Looked(is_there):
                self._take_looked(is_there=is_there is True)
            case Snapshot._LookAgain():
                self._look()
            case Snapshot._Late():
                self._end(b"NATS/1.0 408 No Flow Response\r\n\r\n", "no flow response")
            case _:
                super().on_receive(message)
        return None

    def _expect(self, timeout_s: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.tell_later(timeout_s, Snapshot._Late())

    def _look(self) -> None:
        """Look whether somebody listens: clients subscribe when they have been answered."""
        number, subject = self._target.account_number, self._target.subject
        self.await_reply(self._listens(number, subject), answer=Snapshot._Looked)

    def _take_looked(self, *, is_there: bool) -> None:
        """Begin to send, at latest after some time: who listens may be at another server."""
        if is_there or self._look_s > INTEREST_TIMEOUT_S:
            self._has_begun = True
            self._expect(ACK_TIMEOUT_S)
            self._send()
            return
        self.tell_later(self._look_s, Snapshot._LookAgain())
        self._look_s *= 2

    def _hear(self, *, is_somebody: bool) -> None:
        if self._has_begun and not is_somebody:
            self._end(b"NATS/1.0 408 No Interest\r\n\r\n", "no interest")

    # -- from the engine to the encoder ----------------------------------------------------------

    def _work(self) -> None:
        """Get more to send, if there is less than fits into the window."""
        room = self._room * self._target.chunk_bytes
        if self._is_working or (self._is_read and not self._unencoded) or len(self._ready) > room:
            return
        self._is_working = True
        if self._unencoded:
            data, self._unencoded = self._unencoded, b""
            encode = self._encoder.encode
            self.run_blocking(encode, data, answer=Snapshot._Encoded)
            return
        self._link.ask(
            self.actor_ref,
            Verb.READ_ARCHIVE,
            self._number,
            numbers=(self._next, self._last, READ_BYTES),
            then=self._take_read,
        )

    def _take_read(self, told: EngineAnswer) -> None:
        if told.status:
            self._end(b"NATS/1.0 500 stream is gone\r\n\r\n", "stream is gone")
            return
        self._is_working = False
        self._next, self._is_read = told.numbers[0], bool(told.numbers[2])
        self._unencoded = told.data + (END if self._is_read else b"")
        self._work()

    def _take_encoded(self, outcome: bytes | BaseException) -> None:
        if isinstance(outcome, BaseException):
            raise outcome
        self._is_working = False
        self._ready += outcome
        self._send()

    # -- to the client ---------------------------------------------------------------------------

    def _send(self) -> None:
        """Send what there is room for; the last piece is not acknowledged."""
        if not self._has_begun:
            return
        size = self._target.chunk_bytes
        is_all = self._is_read and not self._unencoded and not self._is_working
        while self._room and len(self._ready) >= size:
            self._send_chunk(size)
        if is_all and len(self._ready) < size:
            if self._ready:
                chunk = bytes(self._ready)
                self._exchange.publish(self._target.account_number, self._target.subject, chunk)
            self._end(b"NATS/1.0 204\r\n\r\n" if self._sent else b"", "")
            return
        self._work()

    def _send_chunk(self, size_bytes: int) -> None:
        self._sent += 1
        self._room -= 1
        chunk = bytes(self._ready[:size_bytes])
        del self._ready[:size_bytes]
        self._exchange.publish(
            self._target.account_number,
            self._target.subject,
            chunk,
            reply=f"{self._ack_subject}.{size_bytes}.{self._sent}",
        )
        self._expect(ACK_TIMEOUT_S)

    def _end(self, header: bytes, problem: str) -> None:
        target = self._target
        self._exchange.publish(target.account_number, target.subject, b"", header=header)
        fields: dict[str, Any] = {
            "stream": self._stream,
            "start": text_from_ns(self._begun_ns),
            "end": text_from_ns(self._clock()),
            "client": target.asker.client,
        }
        subject = f"STREAM.SNAPSHOT_COMPLETE.{self._stream}"
        if problem:
            fields["error"] = problem
        self._advisories.say(target.account, subject, "snapshot_complete", fields)
        self.stop()
