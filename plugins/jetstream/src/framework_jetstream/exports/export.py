"""`Export`: sends one stream as a table, a frame for each that was asked for.

Frames are asked for as messages of a consumer are, by `$JS.API.CONSUMER.MSG.NEXT.<stream>.<id>`:
whoever may not read streams by consumers can't read them by exports. What was sent is, one payload
behind the other, a stream in Arrow's format.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from typing_extensions import override

from framework.actors import Component
from framework.spec import RowWord
from framework.wire.arrow import END
from framework_jetstream.engine.link import EngineAnswers
from framework_jetstream.engine.verbs import Verb

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework_jetstream.engine.link import EngineAnswer, EngineLink
    from framework_jetstream.exchange import Arrived, Exchange
    from framework_jetstream.exports.places import Places
    from framework_jetstream.exports.plan import ExportPlan

IDLE_S: Final = 60.0
"""An export of which nothing was asked for so long, or twice that, ends."""

LINGER_S: Final = 1.0
REST: Final = 599
"""While clients are at work, all exports together rest so many times as long as they take. Less
than one message of a hundred meets a frame, or who sends it, or who asks for the next."""
REST_OF_ONE_S_MAX: Final = 0.1
"""Where clients want all of the engine, a frame takes long because it waits for them."""
REST_S_MAX: Final = 0.5
_SECOND_NS: Final = 1_000_000_000
NOT_THERE: Final = 1
_DELETED: Final = b"NATS/1.0 409 Stream Deleted\r\n\r\n"
_NO_MEMORY: Final = b"NATS/1.0 503 Insufficient Resources\r\n\r\n"


class Export(Component):
    """Send a table.

    Args:
        number: By which the engine knows the stream.
        account: Number of the account.
        subject: Where frames are asked for.
        plan: What is sent.
        begun: Called when frames may be asked for.
        link: The way to the engine.
        exchange: Publishes in the account.
        places: Gets back the place that this export has.
    """

    class _Served(Struct, frozen=True):
        """Frames may be asked for."""

    class _Asked(Struct, frozen=True):
        messages: list[Arrived]

    class _Heard(Struct, frozen=True):
        word: int

    class _Gone(Struct, frozen=True):
        """Nobody listens any more where frames went."""

        reply: str

    class _HasRoom(Struct, frozen=True):
        """The exchange takes more."""

    class _Rested(Struct, frozen=True):
        """Clients have had the engine for a while."""

    class _Sent(Struct, frozen=True):
        """All was sent, and should have arrived."""

    class _Tick(Struct, frozen=True):
        """Time to look whether anybody is still there."""

    def __init__(
        self,
        *,
        number: int,
        account: int,
        subject: str,
        plan: ExportPlan,
        begun: Callable[[], object],
        link: EngineLink,
        exchange: Exchange,
        places: Places,
    ) -> None:
        super().__init__()
        self._number = number
        self._account = account
        self._subject = subject
        self._plan = plan
        self._begun = begun
        self._link = link
        self._exchange = exchange
        self._places = places
        self._next = plan.first_seq
        self._rows = 0
        self._first_seq = self._last_seq = 0
        """Of the stream, as the engine said last."""
        self._reply = ""
        """Where frames go; empty: nobody has asked for one."""
        self._watch = 0
        """Of interest in that, or at first in where frames are asked for."""
        self._left = 0
        """Frames that were asked for."""
        self._is_begun = self._is_reading = self._is_held = self._is_over = False
        self._is_awaiting = self._is_resting = False
        self._asked_ns = 0
        """When the engine was."""
        self._last_words = _DELETED
        self._was_asked = True

    @override
    def on_start(self) -> None:
        tell = self.actor_ref.tell

        def asked(messages: list[Arrived]) -> None:
            tell(Export._Asked(messages))

        def heard(word: int) -> None:
            tell(Export._Heard(word))

        def served(is_somebody: bool) -> None:  # noqa: FBT001 - as an exchange tells it
            if is_somebody:
                tell(Export._Served())

        self._tag = self._exchange.subscribe(self._account, self._subject, asked)
        self._token = self._exchange.listen(heard)
        # Who is answered before that might ask where nobody listens yet.
        self._watch = self._exchange.watch(self._account, self._subject, served)
        self.tell_later(IDLE_S, Export._Tick())

    @override
    def on_stop(self) -> None:
        if self._reply and not self._is_over:
            self._send(b"", self._last_words)
        self._finish()
        for tag in (self._tag, self._token, self._watch):
            self._exchange.forget(tag)

    @override
    def on_receive(self, message: object) -> object:
        match message:
            case EngineAnswers():
                message.use()
            case Export._Served():
                self._begun()
            case Export._Asked(messages):
                self._take_asked(messages)
            case Export._Heard(word):
                self._hear(word)
            case Export._Gone(reply):
                self._see_gone(reply)
            case Export._HasRoom():
                self._is_awaiting = False
                self._work()
            case Export._Rested():
                self._is_resting = False
                self._work()
            case Export._Sent():
                self.stop()
            case Export._Tick():
                self._look(message)
            case _:
                super().on_receive(message)
        return None

    def _take_asked(self, messages: list[Arrived]) -> None:
        for message in messages:
            count = _frames_of(message.payload)
            if not message.reply:
                continue
            if count < 1:
                header = b"NATS/1.0 400 Bad Request\r\n\r\n"
                self._exchange.publish(self._account, message.reply, b"", header=header)
                continue
            self._follow(message.reply)
            self._left = min(self._left + count, self._plan.window)
        if self._reply and not self._is_begun:
            self._is_begun = True
            self._send(self._plan.table.schema)
        self._work()

    def _follow(self, reply: str) -> None:
        """Send to whom has asked last, as long as somebody listens there."""
        self._was_asked = True
        if reply == self._reply:
            return
        tell = self.actor_ref.tell

        def heard(is_somebody: bool) -> None:  # noqa: FBT001 - as an exchange tells it
            if not is_somebody:
                tell(Export._Gone(reply))

        self._exchange.forget(self._watch)
        self._watch = self._exchange.watch(self._account, reply, heard)
        self._reply = reply

    def _hear(self, word: int) -> None:
        """Hear what became of frames: their reader has much waiting, has room again, or is gone."""
        self._is_held = word == RowWord.FULL
        if word in {RowWord.NOBODY, RowWord.REFUSED}:
            self._leave()
        else:
            self._work()

    def _see_gone(self, reply: str) -> None:
        """End, unless it is where frames went before."""
        if reply == self._reply:
            self._leave()

    def _look(self, tick: object) -> None:
        if not self._was_asked:
            self._leave()
            return
        self._was_asked = False
        self.tell_later(IDLE_S, tick)

    def _leave(self) -> None:
        """End: nobody is there to be told anything."""
        self._finish()
        self.stop()

    def _finish(self) -> None:
        """Do no more, and let another export have the place."""
        if not self._is_over:
            self._is_over = True
            self._places.give_back()

    def _work(self) -> None:
        """Get the next frame, if somebody takes it."""
        is_waiting = self._is_reading or self._is_held or self._is_resting
        if is_waiting or self._is_over or not self._left:
            return
        if not self._exchange.has_room:
            self._await_room()
            return
        self._is_reading = True
        self._asked_ns = self.now_ns()
        self._left -= 1
        plan, batch = self._plan, self._plan.table.batch
        self._link.ask(
            self.actor_ref,
            Verb.READ_TABLE,
            self._number,
            numbers=(
                self._next,
                plan.last_seq,
                plan.frame_bytes,
                plan.table.wanted,
                *(plan.begin_ns, plan.end_ns),
                *(batch.rows_at, batch.body_at, batch.nodes_at, batch.places_at),
                len(self._reply.encode()),
            ),
            first=batch.data,
            second="\n".join(plan.filters).encode(),
            then=self._take_frame,
        )

    def _await_room(self) -> None:
        if self._is_awaiting:
            return
        self._is_awaiting = True
        reference = self.actor_ref

        def has_room() -> None:
            if reference.is_alive():
                reference.tell(Export._HasRoom())

        self._exchange.await_room(has_room)

    def _take_frame(self, told: EngineAnswer) -> None:
        if told.status:
            self._last_words = _DELETED if told.status == NOT_THERE else _NO_MEMORY
            self.stop()
            return
        self._is_reading = False
        following, rows, self._first_seq, self._last_seq, is_busy = told.numbers[:5]
        self._rows += rows
        if following:
            self._next = following
            if is_busy:
                self._rest()
            self._work()  # the engine makes the next one meanwhile
        if told.payload is not None:
            self._exchange.publish_memory(
                self._account, self._reply, told.payload, token=self._token
            )
        if not following:
            self._finish()
            self._send(END, self._trailer())
            # What was asked for meanwhile must not be told first that nobody is here.
            self.tell_later(LINGER_S, Export._Sent())

    def _rest(self) -> None:
        """Leave the engine to clients: the more is asked of it, the longer."""
        took_s = (self.now_ns() - self._asked_ns) / _SECOND_NS
        self._is_resting = True
        rest_s = self._places.taken * min(REST * took_s, REST_OF_ONE_S_MAX)
        self.tell_later(min(rest_s, REST_S_MAX), Export._Rested())

    def _trailer(self) -> bytes:
        """Return what is said at the end: what was sent, and how the stream is now."""
        plan = self._plan
        width = max(plan.last_seq - plan.first_seq + 1, 0)
        lines = {
            "Nats-Export-Rows": self._rows,
            "Nats-Export-First-Sequence": plan.first_seq,
            "Nats-Export-Last-Sequence": plan.last_seq,
            **({"Nats-Export-Holes": width - self._rows} if plan.is_of_all else {}),
            "Nats-Stream-First-Sequence": self._first_seq % 2**64,
            "Nats-Stream-Last-Sequence": self._last_seq % 2**64,
        }
        text = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        return f"NATS/1.0 204 End Of Export\r\n{text}\r\n".encode()

    def _send(self, payload: bytes, header: bytes = b"") -> None:
        self._exchange.publish(
            self._account, self._reply, payload, header=header, token=self._token
        )


def _frames_of(payload: bytes) -> int:
    """Return how many frames a request asks for; 0: it makes no sense."""
    if not payload:
        return 1
    try:
        wanted = json.loads(payload).get("batch", 1)
    except (ValueError, AttributeError, RecursionError):
        return 0
    return wanted if isinstance(wanted, int) else 0
