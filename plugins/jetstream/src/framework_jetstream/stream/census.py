"""Streams and consumers as they are now, asked of the engine all at once."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from framework_jetstream.engine.verbs import GroupOf, Verb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from framework.actors import ActorRef
    from framework_jetstream.consumer.entry import ConsumerEntry
    from framework_jetstream.engine.link import EngineAnswer, EngineLink
    from framework_jetstream.stream.book import StreamEntry


class StreamCount(Struct):
    """How a stream is."""

    entry: StreamEntry
    state: EngineAnswer | None = None
    group: EngineAnswer | None = None
    """What GROUP_STATE says, where several servers have it."""

    @property
    def messages(self) -> int:
        """How many it has; one that has just gone has none."""
        return self.state.numbers[0] if self.state else 0

    @property
    def bytes(self) -> int:
        """Of its messages."""
        return self.state.numbers[1] if self.state else 0


class ConsumerCount(Struct):
    """How a consumer is."""

    entry: ConsumerEntry
    state: EngineAnswer | None = None
    group: EngineAnswer | None = None
    """As of a stream."""


class Totals(Struct, frozen=True):
    """What streams have together."""

    memory: int = 0
    """Bytes of messages of those in memory."""
    storage: int = 0
    """Of those in files."""
    messages: int = 0
    """Only where all streams of the server are meant."""

    @staticmethod
    def of(counts: Iterable[StreamCount]) -> Totals:
        """Return what streams have that were counted one by one."""
        found = list(counts)
        in_memory = sum(it.bytes for it in found if it.entry.config.storage == "memory")
        return Totals(
            memory=in_memory,
            storage=sum(it.bytes for it in found) - in_memory,
            messages=sum(it.messages for it in found),
        )


Counted: TypeAlias = "Callable[[list[StreamCount]], object]"


class Census:
    """Asks for many, and goes on when all have answered.

    Args:
        link: The way to the engine.
        owner: In whose turns it goes on.
    """

    def __init__(self, link: EngineLink, owner: ActorRef[Any]) -> None:
        self._link = link
        self._owner = owner

    def take(self, entries: Sequence[StreamEntry], finish: Counted) -> None:
        """Count streams; `finish` gets one count each, in order.

        Args:
            entries: Which.
            finish: Called in a later turn, or at once where there are none.
        """
        counts = [StreamCount(entry) for entry in entries]
        waiting = _Waiting(partial(finish, counts))
        for count in counts:
            self._ask_both(Verb.STREAM_STATE, GroupOf.STREAM, count, waiting)
        waiting.begin()

    def take_consumers(
        self,
        entries: Sequence[ConsumerEntry],
        finish: Callable[[list[ConsumerCount]], object],
    ) -> None:
        """Count consumers, as streams."""
        counts = [ConsumerCount(entry) for entry in entries]
        waiting = _Waiting(partial(finish, counts))
        for count in counts:
            self._ask_both(Verb.CONSUMER_STATE, GroupOf.CONSUMER, count, waiting)
        waiting.begin()

    def add_up(
        self, accounts: Sequence[int | None], finish: Callable[[list[Totals]], object]
    ) -> None:
        """Tell what accounts have in all; it costs the same however many streams there are.

        Args:
            accounts: By number; None: all streams of the server.
            finish: Called in a later turn with as many totals, in order.
        """
        found = [Totals()] * len(accounts)
        waiting = _Waiting(partial(finish, found))
        for at, account in enumerate(accounts):

            def told(answer: EngineAnswer, at: int = at) -> None:
                found[at] = Totals(*answer.numbers[:3])

            numbers = (account is not None,)
            self._ask(Verb.TOTALS, account or 0, waiting, told, numbers)
        waiting.begin()

    def _ask_both(
        self, verb: Verb, group: GroupOf, count: StreamCount | ConsumerCount, waiting: _Waiting
    ) -> None:
        number = count.entry.number
        self._ask(verb, number, waiting, partial(setattr, count, "state"))
        if count.entry.replicas:
            told = partial(setattr, count, "group")
            self._ask(Verb.GROUP_STATE, number, waiting, told, (group,))

    def _ask(
        self,
        verb: Verb,
        number: int,
        waiting: _Waiting,
        told: Callable[[EngineAnswer], object],
        numbers: tuple[int, ...] = (),
    ) -> None:
        def take(answer: EngineAnswer) -> None:
            if not answer.status:
                told(answer)
            waiting.end_one()

        waiting.count += 1
        self._link.ask(self._owner, verb, number, then=take, numbers=numbers)


class _Waiting:
    """Answers that are still to come; the one below 1 calls `finish`."""

    def __init__(self, finish: Callable[[], object]) -> None:
        self._finish = finish
        self.count = 1

    def begin(self) -> None:
        """All was asked."""
        self.end_one()

    def end_one(self) -> None:
        self.count -= 1
        if not self.count:
            self._finish()
