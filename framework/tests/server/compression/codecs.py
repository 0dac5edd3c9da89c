"""Codecs that tests use, sound ones and others."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from framework.server.compression.codec_channel import HEADER
from framework.spec import Codec

if TYPE_CHECKING:
    from framework.spec import Decode, Encode


def _inflate(data: memoryview, into: memoryview) -> int:
    plain = zlib.decompressobj().decompress(data, len(into) + 1)
    into[: len(plain)] = plain  # raises where there is more than it may be
    return len(plain)


def _history_encoder() -> Encode:
    packer = zlib.compressobj(1)
    return lambda plain: packer.compress(plain) + packer.flush(zlib.Z_SYNC_FLUSH)


def _history_decoder() -> Decode:
    unpacker = zlib.decompressobj()

    def decode(data: memoryview, into: memoryview) -> int:
        plain = unpacker.decompress(data, len(into))
        into[: len(plain)] = plain
        return len(plain)

    return decode


DEFLATE = Codec("deflate", lambda: lambda plain: zlib.compress(plain, 1), lambda: _inflate)
HISTORY = Codec("history", _history_encoder, _history_decoder)
"""Goes on with what it knows from one frame to the next."""


def decoding(decode: Decode) -> Codec:
    """Return a codec that encodes as DEFLATE, and decodes as the test says."""
    return Codec("bad", DEFLATE.new_encoder, lambda: decode)


def frame(plain: bytes, encoded: bytes | None = None, /, **lies: int) -> bytes:
    """Return a frame as DEFLATE has it, or one that lies."""
    encoded = zlib.compress(plain, 1) if encoded is None else encoded
    says = {"plain": len(plain), "encoded": len(encoded), "checksum": zlib.crc32(plain), **lies}
    return HEADER.pack(says["plain"], says["encoded"], says["checksum"]) + encoded
