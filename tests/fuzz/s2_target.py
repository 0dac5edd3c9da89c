"""Takes bytes for S2 streams, for a block, and for plain bytes.

Streams must come to the same whether they arrive whole or in pieces, and plain bytes must come back
from every level.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from framework.errors import ProtocolError
from framework.wire._s2 import Decoder, Encoder

if TYPE_CHECKING:
    from collections.abc import Iterable

_IDENTIFIER = b"\xff\x06\x00\x00S2sTwO"
_LEVELS = range(4)
_ENCODER = Encoder()
"""One for all inputs: what it remembers of one must not show in the next."""


def run(pieces: Iterable[bytes]) -> list[Any]:
    """Return what a stream that comes in `pieces` holds, or the error that it ends with."""
    pieces = list(pieces)
    if len(pieces) == 1:
        _come_back(pieces[0])
    return _decoded(pieces)


def _decoded(pieces: Iterable[bytes]) -> list[Any]:
    decoder, plain = Decoder(), bytearray()
    try:
        for piece in pieces:
            plain += decoder.feed(piece)
    except ProtocolError as error:
        # What was whole before the mistake is given only if it came in a piece before.
        return [str(error)]
    return [bytes(plain)]


def _come_back(data: bytes) -> None:
    block = bytes(4) + data
    _decoded([_IDENTIFIER + b"\x00" + len(block).to_bytes(3, "little") + block])
    for level in _LEVELS:
        stream = _ENCODER.encode(data, level)
        if Decoder().feed(stream) != data:
            message = f"level {level} lost bytes of {data!r}"
            raise AssertionError(message)
