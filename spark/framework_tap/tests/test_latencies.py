"""Requests and their answers, as columns of batches have them."""

from __future__ import annotations

import struct

from framework_tap.latencies import Latencies
from framework_tap.limits import REQUESTS_MAX

from framework.spec import BatchColumns, gathered_texts


def columns(*messages):
    """Return columns of (subject, reply, arrived)."""
    index = struct.pack(f"<{len(messages)}i", *range(len(messages)))
    nothing = gathered_texts(index, [b""] * len(messages))
    return BatchColumns(
        len(messages),
        gathered_texts(index, [it[0] for it in messages]),
        gathered_texts(index, [it[1] for it in messages]),
        nothing,
        nothing,
        struct.pack(f"<{len(messages)}q", *(it[2] for it in messages)),
        bytes(4 * len(messages)),
        (1,),
        bytes(4 * len(messages)),
    )


def test_the_first_answer_counts():
    latencies = Latencies()
    latencies.ask(columns((b"svc", b"r1", 10), (b"event", b"", 11), (b"svc", b"r2", 12)))

    assert [(1, b"svc", 20), (2, b"svc", 90)] == latencies.answers(
        columns((b"other", b"", 29), (b"r2", b"", 32), (b"r1", b"", 100), (b"r1", b"", 101))
    )
    assert [] == latencies.answers(columns((b"r1", b"", 200)))


def test_too_many_requests_leave_the_oldest_without_answer():
    latencies = Latencies()
    for first in range(0, REQUESTS_MAX + 1000, 1000):
        latencies.ask(columns(*((b"s", b"r%d" % at, at) for at in range(first, first + 1000))))
    last = first + 999

    assert [] == latencies.answers(columns((b"r0", b"", 1)))
    assert [(0, b"s", 1)] == latencies.answers(columns((b"r%d" % last, b"", last + 1)))
