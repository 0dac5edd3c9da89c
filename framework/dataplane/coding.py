"""S2 levels of a link."""

from __future__ import annotations

from enum import IntEnum


class Coding(IntEnum):
    """How hard S2 tries; whoever reads S2 reads all of them."""

    S2_UNCOMPRESSED = 0
    """Framed, with checksums, and no smaller."""
    S2_FAST = 1
    S2_BETTER = 2
    S2_BEST = 3
