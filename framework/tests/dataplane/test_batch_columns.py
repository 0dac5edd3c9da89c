"""Messages of batches as columns, compared with the messages one by one."""

from __future__ import annotations

import struct
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.dataplane import Delivered, TapKind, WatchTerms
from framework.dataplane.batch import (
    columns_of,
    filled_bits,
    gathered_numbers,
    gathered_texts,
)

if TYPE_CHECKING:
    from framework.dataplane import Batch
    from framework.dataplane.batch import TextColumn
    from framework.tests.dataplane.conftest import Talk


def texts(column: TextColumn) -> list[bytes]:
    ends = struct.unpack(f"<{len(column.offsets) // 4}i", column.offsets)
    assert ends[-1] == len(column.chars)
    return [bytes(column.chars[one:two]) for one, two in pairwise(ends)]


def numbers(column: bytes, letter: str) -> list[int]:
    return list(struct.unpack(f"<{len(column) // struct.calcsize(letter)}{letter}", column))


def batches_of(talk: Talk, sink: int) -> list[Batch]:
    return [event.batch for event in talk.of(Delivered) if event.sink == sink]


def test_columns_are_the_messages(talk: Talk) -> None:
    sink = talk.core.subscribe_sink(0, b">", kind=TapKind.INGRESS)
    talk.turn()
    header = b"NATS/1.0\r\nA: 1\r\n\r\n"
    clients = [talk.client() for _ in range(3)]
    for client in clients:
        client.say(b"PUB a.%d r 3\r\nabc\r\n" % id(client))
        client.say(b"HPUB b %d %d\r\n%bxy\r\n" % (len(header), len(header) + 2, header))
        client.say(b"PUB c 0\r\n\r\n" * 30)
    batches = batches_of(talk, sink)
    columns = columns_of(batches, 1000)

    messages = [message for batch in batches for message in batch.detach()]
    parts = (columns.subject, columns.reply, columns.header, columns.payload)
    assert messages == list(zip(*map(texts, parts), strict=True))
    assert len(messages) == columns.rows == 3 * 32
    assert [len(message[3]) for message in messages] == numbers(columns.sizes, "i")
    assert [batch.link(at) for batch in batches for at in range(len(batch))] == [
        columns.links[at] for at in numbers(columns.link_index, "i")
    ]
    assert 3 == len(set(columns.links)) == len(columns.links)
    assert [
        batch.arrived_ns(at) + 1000 for batch in batches for at in range(len(batch))
    ] == numbers(columns.arrived_ns, "q")


def test_no_batch_is_no_message() -> None:
    columns = columns_of([])

    assert (0, (), b"", []) == (
        columns.rows, columns.links, columns.sizes, texts(columns.payload)
    )  # fmt: skip


def test_what_is_no_batch_is_refused() -> None:
    with pytest.raises(TypeError):
        columns_of([b"batch"])  # type: ignore[list-item]


@given(st.lists(st.binary(max_size=9), min_size=1, max_size=9), st.data())
def test_what_is_known_is_gathered(values: list[bytes], data: st.DataObject) -> None:
    places = data.draw(st.lists(st.integers(0, len(values) - 1), max_size=40))
    index = struct.pack(f"<{len(places)}i", *places)
    column = gathered_texts(index, values)
    lengths = [len(value) for value in values]

    assert [values[at] for at in places] == texts(column)
    assert [lengths[at] for at in places] == numbers(gathered_numbers(index, lengths), "q")
    bits = int.from_bytes(filled_bits(column.offsets), "little")
    assert [bool(values[at]) for at in places] == [
        bool(bits >> at & 1) for at in range(len(places))
    ]


@pytest.mark.parametrize("place", [-1, 2, 2**31 - 1])
def test_a_place_that_is_none_is_refused(place: int) -> None:
    index = struct.pack("<i", place)

    with pytest.raises(ValueError, match=f"place {place} of 2"):
        gathered_numbers(index, [1, 2])
    with pytest.raises(ValueError, match=f"place {place} of 2"):
        gathered_texts(index, [b"1", b"2"])


def test_sizes_are_those_before_a_cut(talk: Talk) -> None:
    terms = WatchTerms(payload_max=2, headers=False)
    sink = talk.core.subscribe_sink(0, b">", kind=TapKind.INGRESS, terms=terms)
    talk.turn()
    header = b"NATS/1.0\r\nA: 1\r\n\r\n"
    talk.client().say(
        b"HPUB b %d %d\r\n%bxyz\r\n" % (len(header), len(header) + 3, header)
        + b"PUB c 3\r\nabc\r\n" * 5
        + b"PUB c 1\r\na\r\n"
    )
    columns = columns_of(batches_of(talk, sink))

    assert [b"xy", *[b"ab"] * 5, b"a"] == texts(columns.payload)
    assert [3, *[3] * 5, 1] == numbers(columns.sizes, "i")
    assert {b""} == set(texts(columns.header))
