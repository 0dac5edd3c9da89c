"""The checksum, against the definition of CRC-32C by one bit at a time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.wire._crc32c import checksum, checksums, joined


def naive(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


@pytest.mark.parametrize(
    ("data", "crc"),
    [
        (b"", 0),
        (b"123456789", 0xE3069283),
        (bytes(32), 0x8A9136AA),  # RFC 3720, B.4
        (b"\xff" * 32, 0x62A8AB43),
    ],
)
def test_published_sums(data: bytes, crc: int) -> None:
    assert {checksum(data), *checksums(data)} == {crc}


@given(st.binary(max_size=40), st.integers(0, 7000), st.integers(0, 9))
def test_sums_are_those_of_the_definition(block: bytes, length: int, skipped: int) -> None:
    data = (block * (length // max(len(block), 1) + 1))[skipped:length]
    expected = naive(data)

    assert {checksum(data), *checksums(data)} == {expected}


@given(st.binary(), st.binary(max_size=40), st.integers(0, 7000))
def test_a_sum_goes_on(first: bytes, block: bytes, count: int) -> None:
    second = (block * (count // max(len(block), 1) + 1))[:count]

    assert checksum(second, checksum(first)) == checksum(first + second)


@given(st.binary(), st.binary(max_size=40), st.integers(0, 70_000))
def test_sums_are_joined(first: bytes, block: bytes, count: int) -> None:
    second = (block * (count // max(len(block), 1) + 1))[:count]
    expected = checksum(first + second)

    assert joined(checksum(first), checksum(second), len(second)) == expected
