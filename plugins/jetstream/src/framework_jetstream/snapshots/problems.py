"""Why archives are refused; the engine's numbers are those of `Problem` in `_archives.pyx`."""

from __future__ import annotations

from typing import Final

from framework.errors import FrameworkError

_WORDS: Final = (
    "nothing is wrong",
    "archive: invalid archive stream",
    "expected message sequence",
    "message sequence {seq} out of order",
    "message sequence {seq} is beyond the last sequence of the state",
    "message sequence {seq} exceeds maximum message size",
    "message sequence {seq} has an invalid subject",
    "message sequence {seq} has an invalid header",
    "there is no memory for message sequence {seq}",
)


class BadArchiveError(FrameworkError):
    """An archive lies, or is none."""


def problem_of(number: int, seq: int) -> BadArchiveError:
    """Return what to raise for a number of the engine's."""
    return BadArchiveError(_WORDS[number].format(seq=seq))
