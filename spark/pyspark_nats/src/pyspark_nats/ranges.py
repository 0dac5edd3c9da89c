"""How a stretch of a stream is cut into parts that tasks read at the same time."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

PROBES_PER_PART = 4
PROBES_MAX = 64


def part_count(count: int, at_least: int, most_each: int) -> int:
    """Return into how many parts `count` messages are cut; 0 when there are none.

    Args:
        count: Messages or sequences.
        at_least: Parts wanted; at least 1.
        most_each: Messages of a part, at most; at least 1.
    """
    return min(max(at_least, -(-count // most_each)), count)


def cut_even(start: int, end: int, parts: int) -> list[tuple[int, int]]:
    """Cut `start` <= sequence < `end` into parts of like width.

    It depends on nothing else, so a batch that is read again after a crash has the same parts,
    rows in the same places, and messages that are written under the same ids.
    """
    width = end - start
    edges = [start + width * at // parts for at in range(parts + 1)] if parts else []
    return [(low, high) for low, high in pairwise(edges) if low < high]


def cut_by_count(
    start: int, end: int, parts: int, pending: Callable[[int], int]
) -> list[tuple[int, int]]:
    """Cut a range so that parts have like numbers of matching messages.

    Args:
        start: First sequence.
        end: Sequence behind the last.
        parts: How many parts, at most; at least 1.
        pending: Returns how many matching messages have this sequence or a higher one.

    Returns:
        Parts that together cover the range; those without a matching message are left out.
    """
    slices = cut_even(start, end, min(parts * PROBES_PER_PART, PROBES_MAX, max(end - start, 1)))
    left = [pending(low) for low, _ in slices] + [pending(end)]
    counts = [before - after for before, after in pairwise(left)]
    each = max(-(-sum(counts) // parts), 1)
    found: list[tuple[int, int]] = []
    low, taken = start, 0
    for (_, high), count in zip(slices, counts, strict=True):
        taken += count
        if taken >= each or high == end:
            if taken:
                found.append((low, high))
            low, taken = high, 0
    return found
