"""IDs of events: 22 characters that no other server draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from random import Random

DIGITS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_PREFIX_CHARS: Final = 12
_SEQUENCE_CHARS: Final = 10
_PAIRS: Final = tuple(first + second for first in DIGITS for second in DIGITS)
"""Two digits at a time: an identifier is made for each client that comes or goes."""
_SEQUENCE_MAX: Final = len(DIGITS) ** _SEQUENCE_CHARS
_STEP_MIN: Final = 33
_STEP_MAX: Final = 333


class EventIds:
    """Draw IDs: a random prefix, and a number that grows by random steps.

    Args:
        rng: Of the system's own kind for servers; seeded in tests.

    Source: the format of `nuid`, which clients of NATS draw their inboxes with.
    """

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._renew()

    def next(self) -> str:
        """Return one more."""
        self._sequence += self._step
        if self._sequence >= _SEQUENCE_MAX:
            self._renew()
        rest, pairs = self._sequence, []
        for _ in range(_SEQUENCE_CHARS // 2):
            rest, pair = divmod(rest, len(_PAIRS))
            pairs.append(_PAIRS[pair])
        pairs.append(self._prefix)
        return "".join(reversed(pairs))

    def _renew(self) -> None:
        self._prefix = "".join(self._rng.choices(DIGITS, k=_PREFIX_CHARS))
        self._sequence = self._rng.randrange(_SEQUENCE_MAX)
        self._step = self._rng.randint(_STEP_MIN, _STEP_MAX)
