"""`/quotaz`: the quotas that clients are under, and how they stand."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from framework.monitor.head import head
from framework.monitor.limits import QUOTAS_LISTED
from framework.spec.formats import short_number

if TYPE_CHECKING:
    from framework.monitor.options import QuotazOptions
    from framework.monitor.source import MonitorSource
    from framework.spec.quota import QuotaRow


async def answer_quotaz(source: MonitorSource, options: QuotazOptions) -> object:
    """Return quotas in the order in which they came to be in use, at most 1,024 at a time."""
    first, most = max(options.offset, 0), min(options.limit, QUOTAS_LISTED)
    rows = list(islice(source.quotas(), first, first + max(most, 0)))
    return {
        **head(source),
        "offset": first,
        "limit": most,
        "num_quotas": len(rows),
        "quotas": [_document(row) for row in rows],
    }


def _document(row: QuotaRow) -> dict[str, object]:
    quota = row.quota
    return {
        "name": quota.name,
        "per": quota.per,
        "who": row.who,
        **({"subject": quota.subject} if quota.subject else {}),
        "messages": short_number(quota.messages),
        "bytes": short_number(quota.bytes),
        "burst_messages": short_number(quota.burst_messages or quota.messages),
        "burst_bytes": short_number(quota.burst_bytes or quota.bytes),
        "over": quota.over,
        "connections": row.clients,
        "passed": row.passed,
        "waited": row.waited,
        "refused": row.refused,
    }
