"""What all streams have together is told at once, of one account or of all."""

from __future__ import annotations

import sys
from pathlib import Path

from framework_jetstream.engine.verbs import Verb
from framework_jetstream.stream.rules import limits_of

sys.path.insert(0, str(Path(__file__).parent))

from test_reading import Evicted

ACCOUNT, OTHER, UNKNOWN = 1, 7, 99


def totals(stream: Evicted, account: int | None = None) -> tuple[int, ...]:
    """Return bytes in memory and in files, and messages, of an account or of all."""
    status, numbers, _ = stream.ask(Verb.TOTALS, account or 0, numbers=(account is not None,))
    assert status == 0
    return numbers[:3]


def open_other(stream: Evicted) -> None:
    """Let another account have a stream in memory."""
    status, _, _ = stream.ask(
        Verb.OPEN_STREAM,
        stream.number + 10,
        numbers=(OTHER, False, 0, 0),
        limits=limits_of(stream.config),
        first=b"M",
        second=b"m.>",
        third=b"",
    )
    assert status == 0


def publish(stream: Evicted, subject: bytes, number: int) -> None:
    stream.port.tell(1, [(subject[:2] + b">", subject, b"x.%d" % number, b"", b"payload")])
    for _ in range(3):
        stream.turn()
        stream.round()


def test_totals_are_those_of_the_streams() -> None:
    stream = Evicted(5)
    stream.config.max_msgs = -1
    stream.config.subject_transform = stream.config.republish = None
    stream.update(stream.config)
    open_other(stream)
    assert totals(stream) == (0, 0, 0)

    for number in range(5):
        publish(stream, b"s.a", number)
    for number in range(3):
        publish(stream, b"m.a", number)
    _, in_file, _ = stream.ask(Verb.STREAM_STATE, stream.number)
    _, in_memory, _ = stream.ask(Verb.STREAM_STATE, stream.number + 10)
    assert (in_file[0], in_memory[0]) == (5, 3)
    assert totals(stream) == (in_memory[1], in_file[1], 8)
    assert totals(stream, ACCOUNT)[:2] == (0, in_file[1])
    assert totals(stream, OTHER)[:2] == (in_memory[1], 0)
    assert totals(stream, UNKNOWN) == (0, 0, 0)

    stream.ask(Verb.DELETE_MESSAGE, stream.number, numbers=(1, 0))
    stream.ask(Verb.CLOSE_STREAM, stream.number + 10)
    assert totals(stream) == (0, in_file[1] * 4 // 5, 4)
    assert totals(stream, OTHER) == (0, 0, 0)
