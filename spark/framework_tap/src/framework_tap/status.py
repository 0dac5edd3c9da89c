"""What `framework run` shows of taps."""

from __future__ import annotations

from typing import Any


def tapped(document: Any) -> int | None:
    """Return how many rows a server has recorded; None: it has no rule.

    Args:
        document: What `/tapz` answers, of a server that may be of another version.
    """
    rules = document["rules"]
    return sum(int(rule["rows"]) for rule in rules) if rules else None
