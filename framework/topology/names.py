"""Suggest the nearest known name for an unknown one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["nearest_fix"]

_NAME_CHARS_MAX = 64


def nearest_fix(name: str, known: Iterable[str], prefix: str = "") -> str:
    """Return "did you mean `x`?" for the nearest known name; empty if none is near."""
    from difflib import get_close_matches  # noqa: PLC0415 - for mistakes only

    near = get_close_matches(name.lower()[:_NAME_CHARS_MAX], list(known), n=1)
    return f"did you mean `{prefix}{near[0]}`?" if near else ""
