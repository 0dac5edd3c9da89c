"""Waiting until a cluster is as it must be."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

WAIT_S = 60.0
AGAIN_S = 0.02


class NotSoError(AssertionError):
    """Something did not come about in time."""


def rest(seconds: float) -> None:
    """Let so much time pass: as a part of a fault, or between two questions."""
    threading.Event().wait(seconds)


def until(what: str, is_so: Callable[[], Any], wait_s: float = WAIT_S) -> Any:
    """Ask until it is so; raises NotSoError when it takes too long."""
    end = time.perf_counter() + wait_s
    while not (found := is_so()):
        if time.perf_counter() > end:
            raise NotSoError(f"not in {wait_s:.0f} s: {what}")
        rest(AGAIN_S)
    return found
