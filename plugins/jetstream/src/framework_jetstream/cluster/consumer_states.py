"""Where consumers stand that archives of their streams are to have: who leads each says it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec

from framework_jetstream.api.records import ConsumerConfig, plain
from framework_jetstream.cluster.usage import account_of
from framework_jetstream.engine.verbs import Verb
from framework_jetstream.meta.assignments import Asset
from framework_jetstream.meta.letters import PREFIX
from framework_jetstream.snapshots.archive import ArchivedConsumer, ConsumerState
from framework_jetstream.snapshots.consumers import consumer_state

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from framework_jetstream.cluster.gathering import Gathering
    from framework_jetstream.consumer.entry import ConsumerEntry
    from framework_jetstream.engine.link import EngineAnswer
    from framework_jetstream.exchange import Arrived, Exchange
    from framework_jetstream.meta.view import ClusterView
    from framework_jetstream.stream.book import StreamBook

_SUBJECT: Final = f"{PREFIX}STATE"
"""Behind it stand stream and consumer."""
_TOKENS: Final = 2


class ConsumerStates:
    """Asks other servers where consumers stand, and says it of those that are led here.

    Args:
        view: Of the cluster.
        book: The streams of this server.
        exchange: The way to other servers.
        gathering: Asks them.
        ask: Asks the engine, as `EngineLink.ask` does.
        tell: Calls something in the turn of who owns this.
    """

    def __init__(
        self,
        *,
        view: ClusterView,
        book: StreamBook,
        exchange: Exchange,
        gathering: Gathering,
        ask: Callable[..., object],
        tell: Callable[[Callable[[], object]], object],
    ) -> None:
        self._view = view
        self._book = book
        self._exchange = exchange
        self._gathering = gathering
        self._ask = ask
        self._tell = tell

    def begin(self, account: int) -> None:
        """Answer from now on, in the system account, whose number it is."""

        def arrived(messages: Sequence[Arrived]) -> None:
            for it in messages:
                self._tell(partial(self._answer, account, it))

        self._exchange.subscribe(account, f"{_SUBJECT}.*.*", arrived)

    def _answer(self, number: int, asked: Arrived) -> None:
        tokens = asked.subject.split(".")[-_TOKENS:]
        consumer = self._led(Asset(account_of(asked.header), *tokens))
        if consumer is None or not asked.reply:
            return
        config = plain(consumer.config)

        def say(told: EngineAnswer) -> None:
            if not told.status:
                document = {"config": config, "state": consumer_state(told)}
                self._exchange.publish(number, asked.reply, msgspec.json.encode(document))

        self._ask(Verb.READ_CONSUMER, consumer.number, then=say)

    def _led(self, asset: Asset) -> ConsumerEntry | None:
        """Return a consumer that this server leads; None: it does not."""
        entry = self._book.get(asset.account, asset.stream)
        consumer = entry.consumers.get(asset.consumer) if entry is not None else None
        return consumer if consumer is not None and consumer.is_leader else None

    def gather(
        self,
        asset: Asset,
        done: Callable[[tuple[ArchivedConsumer, ...], list[str]], object],
    ) -> None:
        """Ask where those consumers of a stream stand that are not led here.

        Args:
            asset: The stream.
            done: Called with them, and with the names of those that nobody knows.
        """
        subjects = {
            name: f"{_SUBJECT}.{asset.stream}.{name}"
            for name in self._view.machine.state.consumers(asset)
            if self._led(asset._replace(consumer=name)) is None
        }

        def told(documents: list[dict[str, Any]], missing: list[str]) -> None:
            found = tuple(
                ArchivedConsumer(
                    msgspec.convert(it["config"], ConsumerConfig),
                    msgspec.convert(it["state"], ConsumerState),
                )
                for it in documents
            )
            done(found, missing)

        self._gathering.ask(asset.account, subjects, told)
