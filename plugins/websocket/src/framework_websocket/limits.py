"""Limits of a handshake."""

from __future__ import annotations

from typing import Final

HANDSHAKE_TIMEOUT_S: Final = 2.0
"""If nothing else is configured; nats-server waits without end then."""

KEPT_BYTES_MAX: Final = 4_096
"""Of the lines of a request that matter, and of any one line."""

HEAD_BYTES_MAX: Final = 65_536
"""Of a whole request; what does not matter is forgotten as it comes."""

assert KEPT_BYTES_MAX < HEAD_BYTES_MAX

CONNECT_URLS_MAX: Final = 128
"""Of one other server, that clients are told."""

CONNECT_URL_LENGTH_MAX: Final = 255
"""Characters."""
