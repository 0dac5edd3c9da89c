"""Statistics of sublists, by nats-server's names.

Source: nats-server `sublist.go`, `SublistStats`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from framework.dataplane.totals import SublistCounters


def sublist_stats(counters: SublistCounters) -> dict[str, object]:
    """Return the part of `/subsz` and `/accountz` that tells of subject tables."""
    matches = counters.hits + counters.misses
    return {
        "num_subscriptions": counters.subscriptions,
        "num_cache": counters.cached,
        "num_inserts": counters.inserts,
        "num_removes": counters.removes,
        "num_matches": matches,
        "cache_hit_rate": _ratio(counters.hits, matches),
        "max_fanout": counters.fanout_max,
        "avg_fanout": _ratio(counters.fanout, counters.misses),
    }


def _ratio(part: int, whole: int) -> float:
    """Return a quotient, as a whole number where it is one, so that JSON shows it as Go does."""
    ratio = part / whole if whole else 0
    return int(ratio) if ratio == int(ratio) else ratio
