"""Whether subjects with wildcards overlap."""

from __future__ import annotations


def do_overlap(left: str, right: str) -> bool:
    """Return whether a message may have a subject that both hold.

    Source: nats-server `sublist.go`, `SubjectsCollide`.
    """
    mine, theirs = left.split("."), right.split(".")
    for a, b in zip(mine, theirs, strict=False):
        if ">" in {a, b}:
            return True
        if a != b and "*" not in {a, b}:
            return False
    return len(mine) == len(theirs)
