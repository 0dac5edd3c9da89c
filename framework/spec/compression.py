"""Compression modes between servers, and codecs that plugins bring for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from msgspec import Struct
from typing_extensions import Buffer

from framework.dataplane.coding import Coding

__all__ = [
    "CODEC_NAME_CHARS_MAX",
    "OFFERS",
    "Codec",
    "Coding",
    "CompressionMode",
    "Decode",
    "Encode",
]

CODEC_NAME_CHARS_MAX: Final = 255
"""Of the name of a mode or a codec; peers are told the second one."""

OFFERS: Final = ("off", "accept", "s2_auto", "s2_fast", "s2_better", "s2_best")
"""What a server may say of its compression; a real nats-server drops a link that says else.

Source: nats-server `server.go`, `selectCompressionMode`.
"""

Encode: TypeAlias = Callable[[memoryview], Buffer]
"""Returns what stands for some plain bytes, all of it; called once a flush.

The view is valid until it returns. It may keep what it knows from one call to the next.
"""

Decode: TypeAlias = Callable[[memoryview, memoryview], int]
"""Decodes the first, what one call of the peer's Encode returned, into the second.

The second has exactly the length that the peer has announced, so no peer can make it larger.
Returns how many bytes it has written; any exception says that the first is no good.
"""


class Codec(Struct, frozen=True):
    """A compression codec in Python, for links between servers that both have it.

    It runs in a thread of its own. Should let go of the interpreter's lock while it works.
    """

    name: str
    """What peers are told; whatever encodes under a name, everything under it decodes."""
    new_encoder: Callable[[], Encode]
    """Called once a link; raises nothing."""
    new_decoder: Callable[[], Decode]
    """Called once a link; raises nothing."""

    def __post_init__(self) -> None:
        _check_name("codec", self.name)


class CompressionMode(Struct, frozen=True):
    """A value of the option `compression`."""

    name: str
    """In lower case, as in the configuration."""
    offer: str
    """One of `OFFERS`: what peers are told that know nothing of codecs, and what they get."""
    codec: Codec | None = None
    """Used with peers that know it; None: as offered, with everybody."""

    def __post_init__(self) -> None:
        _check_name("mode", self.name)
        if self.offer not in OFFERS:
            expected = f"expected one of {', '.join(OFFERS)}"
            raise ValueError(f"mode {self.name} offers {self.offer!r:.80}; {expected}")


def _check_name(kind: str, name: str) -> None:
    if not name.isprintable() or " " in name or name != name.lower():
        raise ValueError(f"{kind} {name!a:.80}: expected lower case, printable, without blanks")
    if not 0 < len(name) <= CODEC_NAME_CHARS_MAX:
        expected = f"expected 1 to {CODEC_NAME_CHARS_MAX}"
        raise ValueError(f"{kind} {name:.40}: a name of {len(name)} characters; {expected}")
