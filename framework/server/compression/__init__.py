"""Link compression by codecs of plugins, in Python, beside the data plane.

The plane hands a link's socket over and gets one end of a socket pair; between the two a thread
encodes and decodes, so neither the plane nor the control loop ever waits for a codec.
See docs/decisions/0010-codecs-run-beside-the-plane.md.
"""

from __future__ import annotations

from framework.server.compression.link_codecs import LinkCodecs

__all__ = ["LinkCodecs"]
