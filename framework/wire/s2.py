"""S2, the compression of routes, for whoever is not compiled: tests, tools and captures."""

from framework.wire._s2 import Decoder, Encoder, encode

__all__ = ["Decoder", "Encoder", "encode"]
