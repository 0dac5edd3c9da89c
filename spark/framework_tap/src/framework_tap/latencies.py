"""Which message answers which request, and how long that took."""

from __future__ import annotations

from collections import OrderedDict
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from framework_tap.limits import REQUESTS_MAX

if TYPE_CHECKING:
    from framework.spec import BatchColumns, TextColumn


class Answer(NamedTuple):
    """The first answer to a request."""

    row: int
    """Among the messages that were looked at, from 0."""
    request_subject: bytes
    latency_ns: int


class Latencies:
    """Remembers requests until they are answered; of too many, the latest.

    Times are those of turns of the plane: what waited in a socket before is not in them.
    """

    def __init__(self) -> None:
        self._waiting: OrderedDict[bytes, tuple[int, bytes]] = OrderedDict()

    def ask(self, columns: BatchColumns) -> None:
        """Remember the messages with a reply subject."""
        arrived = memoryview(columns.arrived_ns).cast("q")
        replies, subjects = _texts(columns.reply), _texts(columns.subject)
        for at, reply in enumerate(replies):
            if reply:
                self._waiting[reply] = (arrived[at], subjects[at])
        while len(self._waiting) > REQUESTS_MAX:
            self._waiting.popitem(last=False)

    def answers(self, columns: BatchColumns) -> list[Answer]:
        """Return the messages that are the first answer to a request."""
        if not self._waiting:
            return []
        arrived = memoryview(columns.arrived_ns).cast("q")
        found = []
        for at, subject in enumerate(_texts(columns.subject)):
            asked = self._waiting.pop(subject, None)
            if asked is not None:
                found.append(Answer(at, asked[1], arrived[at] - asked[0]))
        return found


def _texts(column: TextColumn) -> list[bytes]:
    offsets = memoryview(column.offsets).cast("i").tolist()
    chars = bytes(column.chars)
    return [chars[start:end] for start, end in pairwise(offsets)]
