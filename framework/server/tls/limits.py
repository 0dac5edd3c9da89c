"""Limits and deadlines of TLS."""

from __future__ import annotations

from typing import Final

from framework.server.pump.limits import BATCH_BYTES

RECORD_BYTES_MAX: Final = 16 * 1024
"""Plain bytes of one record. Source: RFC 8446 5.1."""

HANDSHAKES_MAX: Final = 4_096
"""Under way at a time, of peers that have said something; each holds some 50 KiB.

Who comes later waits for a place, in its time. So many, because whoever stops in the middle keeps
his place until his time is over: with few places, a few such peers would keep all others out.
"""

HANDSHAKES_WAITING_MAX: Final = 16_384
"""Connections that wait for a place; one more is closed."""

assert BATCH_BYTES >= RECORD_BYTES_MAX
