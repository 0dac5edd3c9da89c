"""The hash of an account's name, as subjects of acknowledgements have it.

Source: nats-server `events.go`, `getHashSize`.
"""

from __future__ import annotations

import hashlib
from typing import Final

_DIGITS: Final = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_CHARS: Final = 8


def hash_of_account(name: str) -> bytes:
    """Return 8 characters that stand for an account."""
    return bytes(_DIGITS[it % 62] for it in hashlib.sha256(name.encode()).digest()[:_CHARS])
