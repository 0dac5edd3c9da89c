"""Compression modes: nats-server's, and further ones between servers of this kind.

All that one flush says is encoded as a whole, so that nothing waits for what comes after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from framework.spec import Codec, CompressionMode

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from framework.spec import Decode, Encode

_ZSTD_LEVEL: Final = 1
"""On NATS messages with JSON it makes of a flush little more than half of what S2 does; the next
levels gain some percent at most."""
_ZSTD_BETTER_LEVEL: Final = 8
"""4 to 13 % fewer bytes again, five to seven times slower: 40 to 80 MB/s. What is above gains
less."""


def _codec(
    name: str, encode: Callable[[ModuleType], Encode], decode: Callable[[ModuleType], Decode]
) -> Codec:
    """Return a codec that loads the library when the first link wants it."""
    return Codec(name, lambda: encode(_cramjam()), lambda: decode(_cramjam()))


def _zstd(name: str, level: int) -> Codec:
    return _codec(
        name,
        lambda it: lambda plain: it.zstd.compress(plain, level),
        lambda it: it.zstd.decompress_into,
    )


def _cramjam() -> ModuleType:
    import cramjam  # noqa: PLC0415 - most servers never need it

    return cramjam


CODECS: Final = (
    _zstd("zstd", _ZSTD_LEVEL),
    _zstd("zstd_better", _ZSTD_BETTER_LEVEL),
    _codec(
        "lz4",
        lambda it: it.lz4.compress_block,
        lambda it: it.lz4.decompress_block_into,
    ),
    _codec(
        "snappy",
        lambda it: it.snappy.compress_raw,
        lambda it: it.snappy.decompress_raw_into,
    ),
)

MODES: Final = (
    *(
        CompressionMode(name, offer=name)
        for name in ("off", "accept", "s2_auto", "s2_fast", "s2_better", "s2_best")
    ),
    *(CompressionMode(codec.name, offer="s2_fast", codec=codec) for codec in CODECS),
)
"""In the order in which errors list them."""
