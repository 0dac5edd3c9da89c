"""S2 for Python callers: tests, tools and captures."""

from framework.wire._s2 import Decoder, Encoder, encode

__all__ = ["Decoder", "Encoder", "encode"]
