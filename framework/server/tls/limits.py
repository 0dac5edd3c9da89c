"""Bounds and deadlines of TLS."""

from __future__ import annotations

from typing import Final

RECORD_BYTES_MAX: Final = 16 * 1024
"""Plain bytes of one record. Source: RFC 8446 5.1."""

BATCH_BYTES: Final = 256 * 1024
"""Moved in one go, in either direction; sixteen whole records."""

SOCKET_BYTES: Final = 1024 * 1024
"""Asked for of the socket pair between plane and pump; the kernel cuts it to its own maximum."""

HANDSHAKES_MAX: Final = 256
"""Under way at a time; each holds some 50 KiB. Who comes later waits for a place, in its time."""

HANDSHAKES_WAITING_MAX: Final = 16_384
"""Connections that wait for a place; one more is closed."""

FLUSH_DEADLINE_S: Final = 2.0
"""For a peer to take what was written before the plane closed its link."""
