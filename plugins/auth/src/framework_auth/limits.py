"""Bounds of logging in."""

from __future__ import annotations

from typing import Final

CHECKS_AT_ONCE: Final = 2
"""Hashes computed at a time, each in a worker thread; more would only share the processors."""

CHECKS_WAITING_MAX: Final = 1_024
"""Hashes to compute that may wait; at 50 ms each no client waits that long."""

PASSWORD_BYTES_MAX: Final = 72
"""What bcrypt reads of a password; nats-server cuts off the rest in silence, and so do we."""

DIGEST_KEY_BYTES: Final = 32
"""Of the key that digests of known secrets are made with."""
