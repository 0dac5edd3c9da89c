"""Versions of servers: `2.10.1`, as INFO and CONNECT say them.

Source: nats-server `util.go`, `versionComponents`, `versionAtLeast`.
"""

from __future__ import annotations

import re
from typing import Final

_VERSION: Final = re.compile(
    r"v?(\d{1,6})\.(\d{1,6})\.(\d{1,6})(?:-[\w.+-]+)?(?:\+[\w.-]+)?", re.ASCII
)


def version_from(text: str) -> tuple[int, int, int]:
    """Return the three numbers of a version.

    Raises:
        ValueError: It has others.
    """
    found = _VERSION.fullmatch(text)
    if found is None:
        raise ValueError(f"invalid version {text!r}; expected one such as 2.10.0")
    major, minor, update = found.groups()
    return int(major), int(minor), int(update)


def is_at_least(text: str, minimum: tuple[int, int, int]) -> bool:
    """Tell whether a version is not older than another; one that is none is older than any."""
    if minimum == (0, 0, 0):
        return True
    try:
        return version_from(text) >= minimum
    except ValueError:
        return False
