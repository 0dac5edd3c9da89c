"""What this process has allocated, as its C library tells it."""

from __future__ import annotations

import ctypes
import gc
from typing import ClassVar

import pytest


class _Arena(ctypes.Structure):
    """What glibc tells of its memory."""

    _fields_: ClassVar = [
        (name, ctypes.c_size_t)
        for name in (
            "arena", "ordblks", "smblks", "hblks", "hblkhd",
            "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost",
        )
    ]  # fmt: skip


def allocated() -> int:
    """Return the bytes that are allocated, those that the kernel gave at once among them."""
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "mallinfo2"):
        pytest.skip("this C library does not tell")
    libc.mallinfo2.restype = _Arena
    gc.collect()
    told = libc.mallinfo2()
    return int(told.uordblks + told.hblkhd)
