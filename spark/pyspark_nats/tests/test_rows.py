"""Bulk delivery to columns: compared with a cutter of a few lines, at every kind of break."""

from __future__ import annotations

from itertools import pairwise

import pytest

pytest.importorskip("pyarrow", reason="needs pyarrow: ./dev test -e spark")
from hypothesis import given
from hypothesis import strategies as st
from pyspark_nats.frames import Frame
from pyspark_nats.rows import RowCutter

NOISE = (
    b"PING\r\n",
    b"HMSG _INBOX.a 1 28 28\r\nNATS/1.0 404 No Messages\r\n\r\n\r\n",
    b"MSG other 2 2\r\nhi\r\n",
)
PREFIXES = (b"$JS.ACK.ORDERS.c1", b"$JS.ACK.hub.h4sh.ORDERS.c1")


def message(at, payload, *, head=b"", prefix=PREFIXES[0]):
    """Return message number `at` as it comes, and the row that it is."""
    reply = b"%b.1.%d.%d.%d.%d" % (prefix, at, at, 10**18 + at, 5)
    if prefix == PREFIXES[1]:
        reply += b".x"
    size = b"%d %d" % (len(head), len(head) + len(payload)) if head else b"%d" % len(payload)
    verb = b"HMSG" if head else b"MSG"
    line = b"%b orders.%d 1 %b %b\r\n" % (verb, at % 7, reply, size)
    row = (b"orders.%d" % (at % 7), at, 10**18 + at, payload, head or None)
    return line + head + payload + b"\r\n", row


def cut(pieces):
    """Return rows and frames that come out, in order."""
    cutter, found = RowCutter(1), []
    for piece in pieces:
        for each in cutter.feed(piece):
            if isinstance(each, Frame):
                found.append(each.verb if each.verb != b"MSG" else each.subject)
                continue
            columns = [it.to_pylist() if it is not None else None for it in each[:5]]
            columns[4] = columns[4] or [None] * len(columns[0])
            found += zip(*columns, strict=True)
    return found


payloads = st.one_of(
    st.binary(max_size=40),
    st.sampled_from([b"", b"\r\n", b"a\r\nb", b"MSG a 1 $JS.ACK.a.b.1.1.1.1.1 0\r\n\r\n", b" . "]),
)
items = st.one_of(
    payloads, st.tuples(payloads), st.sampled_from([0, 1, 2])
)  # a plain message, one with headers, or something else


@given(st.lists(items, max_size=30), st.sampled_from(PREFIXES), st.lists(st.integers(0, 4000)))
def test_rows_are_those_that_were_sent(sent, prefix, edges):
    wire, expected = b"", []
    for at, item in enumerate(sent, 1):
        if isinstance(item, int):
            wire += NOISE[item]
            expected.append((b"PING", b"_INBOX.a", b"other")[item])
            continue
        head = b"NATS/1.0\r\nA: %d\r\n\r\n" % at if isinstance(item, tuple) else b""
        data, row = message(at, item[0] if head else item, head=head, prefix=prefix)
        wire += data
        expected.append(row)
    cuts = sorted({0, len(wire), *(it for it in edges if it < len(wire))})

    assert expected == cut(wire[a:b] for a, b in pairwise(cuts))


def test_many_plain_messages_are_cut_at_every_place():
    made = [message(at, b"x" * (at % 5)) for at in range(1, 9)]
    wire, expected = b"".join(data for data, _ in made), [row for _, row in made]

    for at in range(len(wire) + 1):
        assert expected == cut([wire[:at], wire[at:]])


def test_a_line_that_only_looks_so_is_no_message():
    # As long as the payload says, and then something else than a message.
    data, row = message(1, b"abc")

    assert [row, b"PING"] == cut([data + b"PING\r\n"])
    assert [row] == cut([data + b"MSG orders.1 1 $JS.ACK.a.b.1.2.2.2.2 9\r\nabc\r\n"])
