"""Limits and deadlines of pumps."""

from __future__ import annotations

from typing import Final

BATCH_BYTES: Final = 256 * 1024
"""Moved in one go, in either direction."""

SOCKET_BYTES: Final = 1024 * 1024
"""Asked for of the socket pair between plane and pump; the kernel cuts it to its own maximum."""

FLUSH_DEADLINE_S: Final = 2.0
"""For a peer to take what was written before the plane closed its link."""

READS_A_TURN: Final = 4
"""Batches that one connection may hand on before the others have their turn.

A few received bytes may stand for many plain ones.
"""
