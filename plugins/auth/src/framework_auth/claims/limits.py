"""Limits of JWTs."""

from __future__ import annotations

from typing import Final

TOKEN_CHARS_MAX: Final = 1024 * 1024
"""Source: jwt `decoder.go`, `MaxTokenSize`."""

HEADER_CHARS_MAX: Final = 1_024
"""Of the first part; real ones have 52."""

LIST_ITEMS_MAX: Final = 100_000
"""Of one list or table in a claim; a token of the largest size holds no more that makes sense."""

INT64_MAX: Final = 2**63 - 1
NUMBER_CHARS_MAX: Final = 20
"""Characters of an integer: all that fit into 64 bits, sign included."""

SHOWN_CHARS_MAX: Final = 80
"""Of a text out of a token that an error repeats."""
