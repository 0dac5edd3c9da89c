"""Keys of a server that gets another one, or another cipher, with some of its starts."""

from __future__ import annotations

import random

from framework_jetstream.encryption._cipher import Keys
from framework_jetstream.encryption.libsodium import prepare

KEYS = (bytes(range(32)), bytes(range(100, 132)))
CHACHAPOLY, AES = 1, 2


class ChangingKeys:
    """Keys for one start after the other.

    Args:
        seed: Of when they change, and to what.
        is_plain: Whether nothing is encrypted by the first starts.
    """

    def __init__(self, seed: int, *, is_plain: bool = False) -> None:
        prepare(AES)
        self._rng = random.Random(f"{seed} keys")
        self._starts = 0
        self.order = KEYS
        self.cipher = 0 if is_plain else self._rng.choice((CHACHAPOLY, AES))

    def next(self) -> Keys | None:
        """Return what the next start has."""
        self._starts += 1
        if self._starts > 1 and self._rng.random() < 0.4:
            self.order = self._rng.choice((KEYS, KEYS[::-1]))
            self.cipher = self._rng.choice((CHACHAPOLY, AES))
        if not self.cipher:
            return None
        salt = self._starts.to_bytes(16, "little")
        return Keys(cipher=self.cipher, keys=self.order, salt=salt)

    def current(self) -> Keys:
        """Return what reads what is written by the last start, and nothing else."""
        return Keys(cipher=self.cipher, keys=self.order[:1])
