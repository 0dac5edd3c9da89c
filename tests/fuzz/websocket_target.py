"""Takes bytes for the frames of a client that comes by WebSocket.

The first byte says whether messages may be compressed, and whether frames need a mask. Where frames
of the server begin, and how many pings it answers, depends on what comes at a time; what it says
does not.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from framework.dataplane import LinkKind, WebSocketFrames
from framework.testing.websocket import FrameReader, Opcode
from tests.fuzz.target import World

if TYPE_CHECKING:
    from collections.abc import Iterable


class _Socket(World):
    """A world in which the last connection speaks WebSocket."""

    @override
    def output(self, link: int) -> bytes:
        said = super().output(link)
        if link != self._links[-1]:
            return said
        reader = FrameReader()
        reader.feed(said)
        plain = reader.plain()
        closes = [it.payload for it in reader.frames if it.opcode == Opcode.CLOSE]
        return b"".join([plain, *closes])


def run(pieces: Iterable[bytes]) -> list[Any]:
    """Return the whole outcome of one connection that sends `pieces`."""
    first, *others = [piece for piece in pieces if piece] or [b""]
    options, rest = (first[0], first[1:]) if first else (0, b"")
    stage = WebSocketFrames(is_compressed=bool(options & 1), is_masked=not options & 2)
    world = _Socket(LinkKind.CLIENT, (stage,))
    world.play(chain([rest], others))
    return world.outcome()
