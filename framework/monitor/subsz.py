"""`/subsz`: what this server's clients subscribe to.

Source: nats-server `monitor.go`, `Subsz`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.errors import BadQuery
from framework.monitor.limits import SUBSCRIPTIONS_LISTED
from framework.spec import LinkKind
from framework.spec.documents import subscription_detail
from framework.spec.formats import time_text
from framework.spec.query import read_bool, read_int
from framework.wire.overlap import overlaps
from framework.wire.subject import is_literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework.dataplane.totals import SublistCounters
    from framework.monitor.source import MonitorSource


async def answer_subsz(source: MonitorSource, query: Mapping[str, str]) -> object:
    """Return the document for a query.

    Raises:
        BadQuery: A value makes no sense.
    """
    wants_list = read_bool(query, "subs")
    offset, limit = max(read_int(query, "offset"), 0), read_int(query, "limit")
    limit = limit if limit > 0 else SUBSCRIPTIONS_LISTED
    test, account = query.get("test", ""), query.get("acc", "")
    if test and not is_literal(test):
        raise BadQuery(f"invalid test subject, must be valid publish subject: {test[:200]}")
    rows = await source.subscriptions()
    if account:
        rows = [row for row in rows if source.account_name(row.account) == account]
    document: dict[str, object] = {
        "server_id": source.server_id,
        "now": time_text(source.wall_ns(source.monotonic_ns())),
        "num_subscriptions": len(rows),
        **_table_document(source.sublist_counters()),
        "total": 0,
        "offset": offset,
        "limit": limit,
    }
    if not wants_list:
        return document
    if test:
        rows = [row for row in rows if overlaps(test.encode(), row.subject)]
    cids = {row.link: row.cid for row in await source.links(LinkKind.CLIENT)}
    document["total"] = len(rows)
    page = rows[offset : offset + limit]
    if page:
        document["subscriptions_list"] = [
            {
                "account": source.account_name(row.account),
                "account_tag": source.account_name(row.account),
                **subscription_detail(row, cids.get(row.link, 0)),
            }
            for row in page
        ]
    return document


async def answer_account_subsz(source: MonitorSource, query: Mapping[str, str]) -> object:
    """Return the document for an account, always with its subscriptions.

    Raises:
        BadQuery: A value makes no sense.
    """
    return await answer_subsz(source, {**query, "subs": "1"})


def _table_document(counters: SublistCounters) -> dict[str, object]:
    """Return what the subject tables have done, by the names of nats-server.

    Source: nats-server `sublist.go`, `SublistStats`.
    """
    matches = counters.hits + counters.misses
    return {
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
