"""Metadata of Arrow's format: a template with its numbers is what is made in one go."""

from __future__ import annotations

import struct

import pytest

from framework.wire.arrow import Column, Type, batch_message, batch_template

FIXED = {Type.INT32: 4, Type.INT64: 8, Type.TIMESTAMP_NS: 8}
KINDS = [
    (Type.INT64,),
    (Type.UTF8,),
    (Type.INT64, Type.TIMESTAMP_NS, Type.UTF8, Type.BINARY, Type.BINARY, Type.INT32),
]
ROWS = 3


def column_of(kind: Type, nulls: int) -> Column:
    """Return three rows; a text has seven characters in all."""
    bits = b"\x07" if nulls else b""
    if kind in FIXED:
        return Column((bits, bytes(FIXED[kind] * ROWS)), nulls)
    return Column((bits, struct.pack("<4i", 0, 2, 4, 7), b"abcdefg"), nulls)


@pytest.mark.parametrize("nulls", [0, 1])
@pytest.mark.parametrize("kinds", KINDS)
def test_a_template_with_its_numbers_is_the_metadata_of_a_batch(
    kinds: tuple[Type, ...], nulls: int
) -> None:
    columns = [column_of(kind, nulls) for kind in kinds]
    wanted, *body = batch_message(ROWS, columns)
    template = batch_template(kinds)
    made, end = bytearray(template.data), 0
    places: list[int] = []
    for buffer in (memoryview(it) for column in columns for it in column.buffers):
        places += [end, buffer.nbytes]
        end += -(-buffer.nbytes // 8) * 8
    struct.pack_into("<q", made, template.rows_at, ROWS)
    struct.pack_into("<q", made, template.body_at, end)
    nodes = [number for column in columns for number in (ROWS, column.null_count)]
    struct.pack_into(f"<{len(nodes)}q", made, template.nodes_at, *nodes)
    struct.pack_into(f"<{len(places)}q", made, template.places_at, *places)

    assert bytes(memoryview(wanted)) == bytes(made)
    assert end == sum(memoryview(it).nbytes for it in body)
    assert len(template.data) % 8 == 0
