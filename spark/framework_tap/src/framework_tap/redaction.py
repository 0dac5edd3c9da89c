"""What must not be recorded is overwritten, with as many `*`: lengths and places stay."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from framework.spec import TextColumn


class Redaction:
    """Overwrites what patterns match in payloads, and values of headers.

    Args:
        patterns: Regular expressions over the bytes of one payload.
        headers: Names, in any case.
    """

    def __init__(self, patterns: Sequence[str], headers: Sequence[str]) -> None:
        self._patterns = [re.compile(pattern.encode()) for pattern in patterns]
        names = b"|".join(re.escape(name.encode()) for name in headers)
        # A header ends with its line, and blocks begin with a line of their own.
        self._headers = re.compile(rb"(?im)^((?:%b)[ \t]*:)([^\r\n]+)" % names) if names else None

    def apply(self, headers: TextColumn, payloads: TextColumn) -> None:
        """Overwrite in place."""
        if self._headers is not None and headers.chars:
            for found in list(self._headers.finditer(headers.chars)):
                _overwrite(headers.chars, *found.span(2))
        for pattern in self._patterns:
            _overwrite_each(pattern, payloads)


def _overwrite_each(pattern: re.Pattern[bytes], payloads: TextColumn) -> None:
    """Overwrite in each payload by itself: no match may begin in one and end in the next."""
    whole = bytes(payloads.chars)
    for start, end in pairwise(memoryview(payloads.offsets).cast("i").tolist()):
        redacted, count = pattern.subn(_stars, whole[start:end])
        if count:
            payloads.chars[start:end] = redacted


def _stars(found: re.Match[bytes]) -> bytes:
    return b"*" * len(found[0])


def _overwrite(chars: bytearray, start: int, end: int) -> None:
    chars[start:end] = b"*" * (end - start)
