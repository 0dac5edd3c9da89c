"""Limits of handshakes."""

from __future__ import annotations

from typing import Final

RECEIVE_BYTES: Final = 4_096
"""That a handshake is given at a time."""

DRAINED_BYTES: Final = 65_536
"""Read and thrown away of a peer that is turned away: what is unread at the close would take the
answer along."""
