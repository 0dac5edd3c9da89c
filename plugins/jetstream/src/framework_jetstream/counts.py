"""How streams and consumers are, asked from outside the component that has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from framework.actors import Reply
from framework_jetstream.jet_stream import JETSTREAM, JetStream

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from framework.spec import ServerContext
    from framework_jetstream.consumer.entry import ConsumerEntry
    from framework_jetstream.stream.book import StreamEntry
    from framework_jetstream.stream.census import ConsumerCount, StreamCount, Totals

_T = TypeVar("_T")


class Counts:
    """Asks, and waits for the answer.

    Args:
        server: Whose streams they are.
    """

    def __init__(self, server: ServerContext) -> None:
        self._server = server

    async def of_streams(self, entries: Sequence[StreamEntry]) -> list[StreamCount]:
        """Return how streams are, in order; one that has just gone has no state."""
        reply = Reply[list["StreamCount"]]()
        self._tell(JetStream.Describe(reply, entries))
        return await reply

    async def of_consumers(self, entries: Sequence[ConsumerEntry]) -> list[ConsumerCount]:
        """Return how consumers are, likewise."""
        reply = Reply[list["ConsumerCount"]]()
        self._tell(JetStream.DescribeConsumers(reply, entries))
        return await reply

    async def totals(self, accounts: Sequence[str | None]) -> list[Totals]:
        """Return what the streams of accounts have together, in order; None: all of this server."""
        reply = Reply[list["Totals"]]()
        self._tell(JetStream.AddUp(reply, accounts))
        return await reply

    def _tell(self, message: object) -> None:
        self._server.component(JETSTREAM).tell(message)


def slices(items: Sequence[_T], count: int) -> Iterator[Sequence[_T]]:
    """Yield items so many at a time."""
    for first in range(0, len(items), count):
        yield items[first : first + count]
