"""A mode of compression for the links between servers: `compression: brotli`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cramjam import brotli

from framework.hookspecs import hookimpl
from framework.spec import Codec, CompressionMode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from framework.spec import Decode, Encode

LEVEL = 4


@hookimpl
def framework_compression_modes() -> Iterator[CompressionMode]:
    codec = Codec("brotli", new_encoder=new_encoder, new_decoder=new_decoder)
    # Servers that have not heard of brotli get S2 from this one.
    yield CompressionMode("brotli", offer="s2_best", codec=codec)


def new_encoder() -> Encode:
    return lambda plain: brotli.compress(plain, LEVEL)


def new_decoder() -> Decode:
    return brotli.decompress_into
