"""Whether two subjects with wildcards overlap."""

from __future__ import annotations

from itertools import zip_longest


def overlaps(one: bytes, other: bytes) -> bool:
    """Tell whether some literal subject is matched by both.

    Cost: O(tokens of the shorter).

    Source: nats-server `sublist.go`, `SubjectsCollide`.
    """
    for left, right in zip_longest(one.split(b"."), other.split(b".")):
        if left is None or right is None:
            return False
        if b">" in {left, right}:
            return True
        if left != right and b"*" not in {left, right}:
            return False
    return True
