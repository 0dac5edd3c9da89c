"""A compressed connection: bytes go in frames, each encoded as a whole.

    length of the plain bytes     4 bytes, little endian; 1 to BATCH_BYTES
    length of the encoded ones    4 bytes, little endian; at most `encoded_bytes_max` of the others
    CRC-32 of the plain bytes     4 bytes, little endian; as of zlib
    the encoded bytes

Lengths are looked at before anything is decoded, and a codec decodes into a buffer that has just
the length announced: what a peer can make us hold is one frame.
"""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, Final, TypeVar

from typing_extensions import override

from framework.server.pump import Channel, ChannelError
from framework.server.pump.limits import BATCH_BYTES

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from framework.spec import Codec

T = TypeVar("T")

HEADER: Final = struct.Struct("<III")

_ERROR_CHARS_MAX: Final = 200
"""Of what a codec complains about, in the log."""


def encoded_bytes_max(plain_bytes: int) -> int:
    """Return how many bytes may stand for so many plain ones; no sound codec comes near it."""
    return 2 * plain_bytes + 1024


class CodecChannel(Channel):
    """A socket with an encoder and a decoder.

    Args:
        sock: Non-blocking.
        codec: Used by both sides.
        left: What was read from the socket already.

    Raises:
        Exception: The codec does not want to begin.
    """

    __slots__ = ("_decode", "_encode", "_incoming", "_name", "_sock")

    def __init__(self, sock: socket.socket, codec: Codec, left: bytes) -> None:
        self._sock = sock
        self._name = codec.name
        self._encode = codec.new_encoder()
        self._decode = codec.new_decoder()
        self._incoming = bytearray(left)
        """At most one frame that is not whole, and one batch."""

    @property
    @override
    def sock(self) -> socket.socket:
        return self._sock

    @override
    def receive(self, data: memoryview) -> None:
        self._incoming += data

    @override
    def read(self, into: memoryview) -> int:
        """Put all frames that are whole into a batch, as far as it has room."""
        at = count = 0
        try:
            while frame := self._decode_frame(at, into[count:]):
                at, plain_bytes = frame
                count += plain_bytes
        except ChannelError:
            if not count:
                raise
            # What came before the bad frame is good; it is met again.
        if at:
            # A new one: who decodes may still hold a view of the old one, which can't shrink then.
            self._incoming = self._incoming[at:]
        return count

    @override
    def answer(self) -> bytes:
        return b""

    @override
    def write(self, plain: memoryview) -> bytes:
        plain = plain.toreadonly()
        encoded = self._run(lambda: memoryview(self._encode(plain)).cast("B"), "encode")
        if encoded.nbytes > encoded_bytes_max(plain.nbytes):
            raise self._error(f"makes {encoded.nbytes} bytes of {plain.nbytes}")
        header = HEADER.pack(plain.nbytes, encoded.nbytes, zlib.crc32(plain))
        return b"".join((header, encoded))

    @override
    def farewell(self) -> bytes:
        return b""

    def _decode_frame(self, at: int, into: memoryview) -> tuple[int, int] | None:
        """Decode the frame at an offset; return the offset behind it and its length.

        None: it is not whole, or has no room.
        """
        start = at + HEADER.size
        if start > len(self._incoming):
            return None
        plain_bytes, encoded_bytes, checksum = HEADER.unpack_from(self._incoming, at)
        if not 0 < plain_bytes <= BATCH_BYTES or encoded_bytes > encoded_bytes_max(plain_bytes):
            raise self._error(f"a frame of {plain_bytes} bytes in {encoded_bytes}")
        end = start + encoded_bytes
        if end > len(self._incoming) or plain_bytes > len(into):
            return None
        encoded, plain = memoryview(self._incoming)[start:end].toreadonly(), into[:plain_bytes]
        count = self._run(lambda: self._decode(encoded, plain), "decode")
        if count != plain_bytes:
            raise self._error(f"a frame of {count} bytes that was to have {plain_bytes}")
        if zlib.crc32(plain) != checksum:
            raise self._error("bad checksum")
        return end, plain_bytes

    def _run(self, action: Callable[[], T], verb: str) -> T:
        """Let the codec work.

        Raises:
            ChannelError: It raised something.
        """
        try:
            return action()
        except BaseException as error:
            problem = f"{type(error).__name__}: {error}"[:_ERROR_CHARS_MAX]
            raise self._error(f"can't {verb}: {problem}") from error

    def _error(self, problem: str) -> ChannelError:
        return ChannelError(f"codec {self._name}: {problem}")
