"""Frames of WebSocket as a client makes and reads them, byte by byte: slow, and easy to check."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from enum import IntEnum

from msgspec import Struct

MASK = b"\x1f\x2e\x3d\x4c"
_IN_TWO_BYTES = 126
_IN_EIGHT_BYTES = 127
_SHORTEST_BYTES = 2


class Opcode(IntEnum):
    """What a frame is. Source: RFC 6455 11.8."""

    CONTINUATION = 0
    TEXT = 1
    BINARY = 2
    CLOSE = 8
    PING = 9
    PONG = 10


class Frame(Struct, frozen=True):
    """One frame, unmasked."""

    opcode: int
    payload: bytes
    is_final: bool = True
    is_compressed: bool = False

    @property
    def close_status(self) -> int:
        """Return the status of a close frame; 1005: it has none."""
        return int.from_bytes(self.payload[:2], "big") if self.payload else 1005


def frame_bytes(
    payload: bytes = b"",
    opcode: int = Opcode.BINARY,
    *,
    final: bool = True,
    reserved: int = 0,
    mask: bytes = MASK,
    length: int | None = None,
) -> bytes:
    """Return the bytes of a frame.

    Args:
        payload: Plain.
        opcode: An `Opcode`, or another number.
        final: It is the last of its message.
        reserved: The three bits behind the first, as a number.
        mask: Four bytes; empty: it is not masked.
        length: What the head says; None: the truth.
    """
    count = len(payload) if length is None else length
    head = bytes([final << 7 | reserved << 4 | opcode])
    masked = 0x80 if mask else 0
    if count < _IN_TWO_BYTES:
        head += bytes([masked | count])
    elif count < 1 << 16:
        head += bytes([masked | _IN_TWO_BYTES]) + count.to_bytes(2, "big")
    else:
        head += bytes([masked | _IN_EIGHT_BYTES]) + count.to_bytes(8, "big")
    return head + mask + (masked_bytes(payload, mask) if mask else payload)


def masked_bytes(payload: bytes, mask: bytes) -> bytes:
    """Return bytes with a mask put on, or taken off."""
    return bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload))


def deflated(plain: bytes) -> bytes:
    """Return the payload of a compressed message, which a frame with `reserved=4` has."""
    stream = zlib.compressobj(wbits=-15)
    return (stream.compress(plain) + stream.flush(zlib.Z_SYNC_FLUSH)).removesuffix(
        b"\x00\x00\xff\xff"
    )


class FrameReader:
    """Take frames out of bytes as they come."""

    def __init__(self) -> None:
        self._bytes = b""
        self.frames: list[Frame] = []
        """Not taken yet."""

    def feed(self, data: bytes) -> list[Frame]:
        """Take what has come; return the frames that are whole now."""
        self._bytes += data
        found = list(self._whole())
        self.frames += found
        return found

    def _whole(self) -> Iterator[Frame]:
        while len(self._bytes) >= _SHORTEST_BYTES:
            first, second = self._bytes[:2]
            count, at = second & 127, 2
            if count >= _IN_TWO_BYTES:
                size = 2 if count == _IN_TWO_BYTES else 8
                count, at = int.from_bytes(self._bytes[2 : 2 + size], "big"), 2 + size
            mask = self._bytes[at : at + 4] if second & 128 else b""
            at += len(mask)
            if len(self._bytes) < at + count:
                return
            payload = self._bytes[at : at + count]
            self._bytes = self._bytes[at + count :]
            plain = masked_bytes(payload, mask) if mask else payload
            yield Frame(first & 15, plain, bool(first & 128), bool(first & 64))

    def plain(self) -> bytes:
        """Return and forget what messages have brought; control frames stay."""
        kept, said = [], b""
        for frame in self.frames:
            if frame.opcode >= Opcode.CLOSE:
                kept.append(frame)
            elif frame.is_compressed:
                said += zlib.decompressobj(wbits=-15).decompress(frame.payload + b"\0\0\xff\xff")
            else:
                said += frame.payload
        self.frames = kept
        return said
