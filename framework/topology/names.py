"""Suggest the nearest known name for an unknown one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["nearest_fix"]

_NAME_CHARS_MAX = 64
_CANDIDATES = 4


def nearest_fix(name: str, known: Iterable[str], prefix: str = "") -> str:
    """Return "did you mean `x`?" for the nearest known name; empty if none is near."""
    from difflib import get_close_matches  # noqa: PLC0415 - for mistakes only

    said = name.lower()[:_NAME_CHARS_MAX]
    near = get_close_matches(said, list(known), n=_CANDIDATES)
    # Letters in another order are the likelier slip: `prot` is as near to `root` as to `port`.
    near.sort(key=lambda it: sorted(it) != sorted(said))
    return f"did you mean `{prefix}{near[0]}`?" if near else ""
