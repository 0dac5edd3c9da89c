"""`/connz`: client connections, open and closed.

Source: nats-server `monitor.go`, `Connz`.
"""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from framework.dataplane import subscription_rows
from framework.errors import BadQuery
from framework.monitor.connection_document import Connection, Wanted, connection_document
from framework.monitor.head import head
from framework.monitor.json_stream import Batches
from framework.monitor.limits import CONNECTIONS_LISTED, DOCUMENTS_A_TURN
from framework.monitor.options import ALL, CLOSED, OPEN

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence

    from framework.monitor.options import ConnzOptions
    from framework.monitor.source import MonitorSource
    from framework.spec import LinkId


_SORTS: Final[dict[str, tuple[Callable[[Connection], int | str], bool]]] = {
    "cid": (lambda it: it.row.cid, False),
    "start": (lambda it: it.row.cid, False),
    "subs": (lambda it: it.row.subscriptions, True),
    "pending": (lambda it: it.row.pending_bytes, True),
    "msgs_to": (lambda it: it.row.out_msgs, True),
    "msgs_from": (lambda it: it.row.in_msgs, True),
    "bytes_to": (lambda it: it.row.out_bytes, True),
    "bytes_from": (lambda it: it.row.in_bytes, True),
    "last": (lambda it: it.row.last_activity_ns, True),
    "idle": (lambda it: -it.row.last_activity_ns, True),
    "uptime": (lambda it: it.row.opened_ns, True),
    "stop": (lambda it: it.closed.closed_ns if it.closed else 0, True),
    "reason": (lambda it: it.closed.reason.text if it.closed else "", False),
    "rtt": (lambda it: it.row.rtt_ns, True),
}
"""Key of each order, and whether the largest comes first."""


async def answer_connz(source: MonitorSource, options: ConnzOptions) -> object:
    """Return the document for HTTP, where a subject counts only within an account.

    Raises:
        BadQuery: Its order is unknown, or not for connections in that state.

    Source: nats-server `monitor.go`, `HandleConnz`, which does not look at `filter_subject`.
    """
    within = options if options.account else replace(options, filter_subject="")
    return await answer_connz_request(source, within)


async def answer_connz_request(source: MonitorSource, options: ConnzOptions) -> object:
    """Return the document for a request.

    Raises:
        BadQuery: Its order is unknown, or not for connections in that state; or a subject is
            looked for without an account.
    """
    sort = options.sort or "cid"
    _check(options, sort)
    offset = max(options.offset, 0)
    limit = 1 if options.cid else options.limit if options.limit > 0 else CONNECTIONS_LISTED
    chosen, total = await _choose(source, options)
    if options.filter_subject not in {"", ">"}:
        interested = await _interested(source, options)
        chosen = [it for it in chosen if it.row.link in interested]
    key, largest_first = _SORTS[sort]
    chosen.sort(key=key, reverse=largest_first)
    page = chosen[offset : offset + limit]
    shown = Wanted(
        auth=options.auth, subs=options.subscriptions, details=options.subscriptions_detail
    )
    return {
        **head(source),
        "num_connections": len(page),
        "total": total,
        "offset": offset,
        "limit": limit,
        "connections": Batches(_documents(source, page, shown), source.turns),
    }


async def _documents(
    source: MonitorSource, page: Sequence[Connection], shown: Wanted
) -> AsyncGenerator[Sequence[dict[str, object]], None]:
    now_ns = source.monotonic_ns()
    for first in range(0, len(page), DOCUMENTS_A_TURN):
        yield [
            connection_document(source, it, shown, now_ns)
            for it in page[first : first + DOCUMENTS_A_TURN]
        ]


def _check(options: ConnzOptions, sort: str) -> None:
    if sort not in _SORTS:
        raise BadQuery(f"invalid sorting option: {sort[:100]}")
    if sort in {"stop", "reason"} and options.state != CLOSED:
        raise BadQuery(f"sort by {sort} only valid on closed connections")
    if options.filter_subject not in {"", ">"} and not options.account:
        raise BadQuery("filter by subject only valid with account filtering")


async def _choose(source: MonitorSource, options: ConnzOptions) -> tuple[list[Connection], int]:
    """Return the connections asked for, and how many there are before users are told apart."""
    found: list[Connection] = []
    if options.state in {OPEN, ALL}:
        account = _account_index(source, options.account)
        for kind in source.user_kinds:
            found += [
                Connection(row, source.client_connect(row), source.client_identity(row))
                for row in await source.links(kind, account=account)
            ]
    if options.state in {CLOSED, ALL}:
        # Those that were open just now are told once.
        told = {it.row.link for it in found}
        found += [
            Connection(it.row, it.connect, it.identity, it)
            for it in source.closed_clients()
            if it.row.link not in told
        ]
    if options.account:
        found = [it for it in found if it.account == options.account]
    total = len(found)
    if options.user:
        found = [it for it in found if it.user == options.user]
    if options.mqtt_client:
        found = []
    if options.cid:
        found = [it for it in found if it.row.cid == options.cid][:1]
    return found, total


async def _interested(source: MonitorSource, options: ConnzOptions) -> set[LinkId]:
    """Return the clients that subscribe to the subject that is looked for."""
    links: set[LinkId] = set()
    slices = source.list_subscriptions(
        account=_account_index(source, options.account), subject=options.filter_subject, once=True
    )
    async with aclosing(slices):
        async for listed in slices:
            links.update(row.link for row in subscription_rows(listed.data))
    return links


def _account_index(source: MonitorSource, name: str) -> int | None:
    """Return the number of an account; None when clients are not looked for by account."""
    try:
        return source.accounts.index(name) if name else None
    except KeyError:
        return None
