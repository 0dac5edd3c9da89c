"""S2 streams read the slow way, from the format's description; and chunks made by hand."""

from __future__ import annotations

IDENTIFIER = b"\xff\x06\x00\x00S2sTwO"


def plain_of(stream: bytes, seen: set[str] | None = None) -> bytes:
    """Return the plain bytes of whole streams; AssertionError or IndexError where they are none.

    Args:
        stream: One stream, or several.
        seen: Gets the kinds of elements that blocks have.
    """
    assert stream[:10] in {IDENTIFIER, b"\xff\x06\x00\x00sNaPpY"}
    plain = bytearray()
    while stream:
        kind, end = stream[0], 4 + int.from_bytes(stream[1:4], "little")
        assert end <= len(stream)
        if kind < 0x02:
            data = block_plain(stream[8:end], seen) if kind == 0 else stream[8:end]
            assert masked_crc(data) == int.from_bytes(stream[4:8], "little")
            plain += data
        else:
            assert kind >= 0x80
        stream = stream[end:]
    return bytes(plain)


def block_plain(block: bytes, seen: set[str] | None = None) -> bytes:
    """Return what a block holds."""
    seen = set() if seen is None else seen
    length, at = 0, 0
    while True:
        length |= (block[at] & 127) << 7 * at
        at += 1
        if block[at - 1] < 128:
            break
    plain, offset = bytearray(), 0
    while at < len(block):
        tag, high = block[at], block[at] >> 2
        if tag & 3 == 0:
            seen.add("literal")
            more = max(high - 59, 0)
            count = 1 + (_number(block, at + 1, more) if more else high)
            at += 1 + more
            assert at + count <= len(block)
            plain += block[at : at + count]
            at += count
            continue
        size = (0, 1, 2, 4)[tag & 3]
        count, distance = 1 + high, _number(block, at + 1, size)
        at += 1 + size
        if tag & 3 == 1:
            count, distance = 4 + (high & 7), distance | tag >> 5 << 8
            more = max((high & 7) - 4, 0)
            if not distance and more:
                count = (8, 260, 65540)[more - 1] + _number(block, at, more)
                at += more
        if distance or tag & 3 != 1:
            offset = distance
            seen.add(f"copy {size}")
        else:
            seen.add("repeat")
        assert 0 < offset <= len(plain)
        for _ in range(count):
            plain.append(plain[-offset])
    assert len(plain) == length
    return bytes(plain)


def _number(data: bytes, at: int, size: int) -> int:
    assert at + size <= len(data)
    return int.from_bytes(data[at : at + size], "little")


def _remainder(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    return byte


REMAINDERS = [_remainder(byte) for byte in range(256)]


def crc(data: bytes) -> int:
    """Return the CRC-32C of bytes."""
    value = 0xFFFFFFFF
    for byte in data:
        value = value >> 8 ^ REMAINDERS[(value ^ byte) & 255]
    return value ^ 0xFFFFFFFF


def masked_crc(data: bytes) -> int:
    """Return the CRC-32C as streams have it."""
    value = crc(data)
    return (value >> 15 | value << 17) + 0xA282EAD8 & 0xFFFFFFFF


def chunk(kind: int, body: bytes) -> bytes:
    """Return a chunk of any kind."""
    return bytes([kind]) + len(body).to_bytes(3, "little") + body


def data_chunk(kind: int, body: bytes, plain: bytes) -> bytes:
    """Return a chunk of kind 0 or 1 with the CRC of `plain`."""
    return chunk(kind, masked_crc(plain).to_bytes(4, "little") + body)


def varint(value: int) -> bytes:
    """Return a number as blocks begin with it."""
    parts = bytearray()
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])
