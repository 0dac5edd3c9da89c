"""Bounds and deadlines of TLS."""

from __future__ import annotations

from typing import Final

RECORD_BYTES_MAX: Final = 16 * 1024
"""Plain bytes of one record. Source: RFC 8446 5.1."""

BATCH_BYTES: Final = 256 * 1024
"""Moved in one go, in either direction; sixteen whole records."""

SOCKET_BYTES: Final = 1024 * 1024
"""Asked for of the socket pair between plane and pump; the kernel cuts it to its own maximum."""

HANDSHAKES_MAX: Final = 4_096
"""Under way at a time, of peers that have said something; each holds some 50 KiB.

Who comes later waits for a place, in its time. So many, because whoever stops in the middle keeps
his place until his time is over: with few places, a few such peers would keep all others out.
"""

HANDSHAKES_WAITING_MAX: Final = 16_384
"""Connections that wait for a place; one more is closed."""

FLUSH_DEADLINE_S: Final = 2.0
"""For a peer to take what was written before the plane closed its link."""
