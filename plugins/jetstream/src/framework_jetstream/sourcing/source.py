"""`Source`: steers one source of a stream; the engine takes its messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from typing_extensions import override

from framework.actors import Component
from framework_jetstream.engine.link import EngineAnswers, EngineEvent
from framework_jetstream.engine.verbs import Verb
from framework_jetstream.sourcing.consumer_request import Stored, delete_subject, read_answer
from framework_jetstream.sourcing.machine import Ask, Follow, ReadStored, SourceMachine, Wait
from framework_jetstream.sourcing.names import name_parts

if TYPE_CHECKING:
    from framework.actors import Timer
    from framework.sublist.transform import Program
    from framework_jetstream.engine.link import EngineAnswer, EngineLink
    from framework_jetstream.exchange import Arrived, Exchange
    from framework_jetstream.sourcing.consumer_request import ConsumerMade, Taker
    from framework_jetstream.sourcing.entry import SourceEntry
    from framework_jetstream.sourcing.machine import Effect

REPLY: Final = "$JSC.R"


class Source(Component):
    """Have a consumer elsewhere, let the engine follow it, and make another one when it is lost.

    Args:
        entry: What its stream knows of it.
        taker: Whose it is.
        account: The number of the account.
        stream_number: By which the engine knows the stream.
        programs: What becomes of subjects.
        link: The way to the engine.
        exchange: Asks for consumers.
        wants_direct: Direct gets of the origin are answered too.
    """

    class End(Struct, frozen=True):
        """It is wanted no more: its consumer goes as well."""

    class ServeDirect(Struct, frozen=True):
        """Answer direct gets of the origin, or no more."""

        is_wanted: bool

    class _Due(Struct, frozen=True):
        """The time has come to ask."""

    class _Silent(Struct, frozen=True):
        """Nobody has answered."""

    class _Answered(Struct, frozen=True):
        asked: int
        header: bytes
        payload: bytes

    def __init__(
        self,
        *,
        entry: SourceEntry,
        taker: Taker,
        account: int,
        stream_number: int,
        programs: list[Program],
        link: EngineLink,
        exchange: Exchange,
        wants_direct: bool,
    ) -> None:
        super().__init__()
        self._entry = entry
        self._taker = taker
        self._account = account
        self._stream_number = stream_number
        self._programs = programs
        self._link = link
        self._exchange = exchange
        self._wants_direct = wants_direct
        self._consumer = ""
        self._asked = 0
        self._reply_tag: int | None = None
        self._timer: Timer | None = None

    @override
    def on_start(self) -> None:
        self._machine = SourceMachine(self._entry.config, self._taker, self.rng)
        self._link.listen_to_source(self._entry.number, self.actor_ref)
        self._open()
        self._perform(self._machine.begin(self.now_ns()))

    @override
    def on_receive(self, message: object) -> object:
        now_ns = self.now_ns()
        match message:
            case EngineAnswers():
                message.use()
            case EngineEvent():
                self._consumer = ""
                self._perform(self._machine.begin(now_ns))
            case Source._Due():
                self._perform(self._machine.receive_due())
            case Source._Silent():
                self._forget_reply()
                self._perform(self._machine.receive_silence(now_ns))
            case Source._Answered(asked=asked) if asked == self._asked:
                self._take_answer(message)
            case Source._Answered():
                pass
            case Source.ServeDirect(is_wanted):
                self._wants_direct = is_wanted
                self._open()
            case Source.End():
                self._end()
            case _:
                super().on_receive(message)
        return None

    @override
    def on_stop(self) -> None:
        self._forget_reply()
        self._link.forget_source(self._entry.number)

    def _ask_engine(self, verb: Verb, then: Any, *numbers: int, **more: Any) -> None:
        self._link.ask(
            self.actor_ref,
            verb,
            self._stream_number,
            then=then,
            numbers=(self._entry.number, *numbers),
            **more,
        )

    def _open(self) -> None:
        stream, rest = name_parts(self._entry.config)
        self._ask_engine(
            Verb.OPEN_SOURCE,
            lambda _: None,
            self._taker.is_mirror,
            self._wants_direct,
            first=stream.encode(),
            second=rest.encode(),
            programs=self._programs,
        )

    # -- what the machine wants ------------------------------------------------------------------

    def _perform(self, effect: Effect) -> None:
        match effect:
            case Wait(delay_s):
                self._wake(delay_s, Source._Due())
            case ReadStored():
                self._ask_engine(Verb.SOURCE_STATE, self._take_state)
            case Ask():
                self._send(effect)
            case Follow(consumer):
                self._follow(consumer)
        self._entry.error = self._machine.error

    def _wake(self, delay_s: float, message: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.tell_later(delay_s, message)

    def _take_state(self, told: EngineAnswer) -> None:
        if told.status:
            return  # the stream is gone, and so is this soon
        seq, messages, first_seq, _, last_ns = (number % 2**64 for number in told.numbers[:5])
        stored = Stored(seq, told.data.decode(), messages, first_seq, last_ns)
        self._perform(self._machine.receive_stored(stored, self.now_ns()))

    def _send(self, effect: Ask) -> None:
        self._forget_reply()
        self._asked += 1
        asked, tell = self._asked, self.actor_ref.tell
        reply = f"{REPLY}.{self.rng.getrandbits(64):016x}"

        def take(messages: list[Arrived]) -> None:
            for it in messages[:1]:
                tell(Source._Answered(asked, it.header, it.payload))

        self._reply_tag = self._exchange.subscribe(self._account, reply, take)
        self._wake(effect.answer_s, Source._Silent())
        request = effect.request
        self._exchange.publish(
            self._account, request.subject, request.payload, reply=reply, header=request.header
        )

    def _forget_reply(self) -> None:
        if self._reply_tag is not None:
            self._exchange.forget(self._reply_tag)
            self._reply_tag = None

    def _take_answer(self, message: Source._Answered) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._asked += 1
        self._forget_reply()
        config, is_mirror = self._entry.config, self._taker.is_mirror
        made = read_answer(message.header, message.payload, config, is_mirror=is_mirror)
        self._perform(self._machine.receive_answer(made, self.now_ns()))

    def _follow(self, made: ConsumerMade) -> None:
        self._consumer = made.name

        def followed(told: EngineAnswer) -> None:
            if told.status:
                self._perform(self._machine.receive_silence(self.now_ns()))

        self._ask_engine(
            Verb.FOLLOW_SOURCE,
            followed,
            made.passed_seq,
            first=made.name.encode(),
            second=made.deliver.encode(),
            third=made.ident.encode(),
        )

    def _end(self) -> None:
        config = self._entry.config
        if self._consumer and config.consumer is None:
            subject = delete_subject(config, self._consumer)
            self._exchange.publish(self._account, subject, b"")
        self._ask_engine(Verb.CLOSE_SOURCE, lambda _: self.stop())
