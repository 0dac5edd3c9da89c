"""`/subsz`: subscriptions and sublist statistics.

Source: nats-server `monitor.go`, `Subsz`.
"""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from framework.dataplane.totals import SublistCounters
from framework.errors import BadQuery
from framework.monitor.head import head
from framework.monitor.limits import SUBSCRIPTIONS_LISTED
from framework.monitor.sublist_stats import sublist_stats
from framework.spec.rows import SubscriptionRows
from framework.wire.subject import is_literal

if TYPE_CHECKING:
    from framework.monitor.options import SubszOptions
    from framework.monitor.source import MonitorSource

_NONE: Final = SublistCounters(0, 0, 0, 0, 0, 0, 0, 0)
"""Of an account that is not there."""
_NO_ACCOUNT: Final = -1


async def answer_subsz(source: MonitorSource, options: SubszOptions) -> object:
    """Return the document, with subscriptions if they are asked for.

    Raises:
        BadQuery: The subject to test has wildcards.
    """
    offset = max(options.offset, 0)
    limit = options.limit if options.limit > 0 else SUBSCRIPTIONS_LISTED
    test = options.test
    if test and not is_literal(test):
        raise BadQuery(f"invalid test subject, must be valid publish subject: {test[:200]}")
    index = _account_index(source, options.account)
    document: dict[str, object] = {
        **head(source),
        **sublist_stats(_NONE if index == _NO_ACCOUNT else source.sublist_counters(index)),
        "total": 0,
        "offset": offset,
        "limit": limit,
    }
    if not options.subscriptions or index == _NO_ACCOUNT:
        return document
    total = 0
    async with aclosing(source.list_subscriptions(account=index, subject=test, limit=0)) as counted:
        async for listed in counted:
            total = listed.matched
    document["total"] = total
    if offset < total:
        slices = source.list_subscriptions(account=index, subject=test, offset=offset, limit=limit)
        document["subscriptions_list"] = SubscriptionRows.details(
            slices, accounts=_AccountNames(source)
        )
    return document


def _account_index(source: MonitorSource, name: str) -> int | None:
    """Return what the plane calls an account; None: all of them are meant."""
    if not name:
        return None
    try:
        return source.accounts.index(name)
    except KeyError:
        return _NO_ACCOUNT


class _AccountNames(dict[int, tuple[bytes, bytes]]):
    """Name and name tag of each account that a row is of."""

    def __init__(self, source: MonitorSource) -> None:
        super().__init__()
        self._source = source

    def __missing__(self, account: int) -> tuple[bytes, bytes]:
        name = self._source.account_name(account)
        spec = self._source.accounts.get(name)
        tag = spec.name_tag if spec and spec.name_tag else name
        names = self[account] = (name.encode(), tag.encode())
        return names


async def answer_account_subsz(source: MonitorSource, options: SubszOptions) -> object:
    """Return the document for an account, always with its subscriptions.

    Raises:
        BadQuery: The subject to test has wildcards.
    """
    return await answer_subsz(source, replace(options, subscriptions=True))
