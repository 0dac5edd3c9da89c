"""`/connz`: client connections, open and closed.

Source: nats-server `monitor.go`, `Connz`.
"""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct

from framework.dataplane import subscription_rows
from framework.errors import BadQuery
from framework.monitor.connection_document import Connection, Wanted, connection_document
from framework.monitor.head import head
from framework.monitor.json_stream import Batches
from framework.monitor.limits import CONNECTIONS_LISTED, DOCUMENTS_A_TURN
from framework.spec import LinkKind
from framework.spec.query import read_bool, read_int, read_unsigned

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping, Sequence

    from framework.monitor.source import MonitorSource
    from framework.spec import LinkId


class _Question(Struct, frozen=True):
    """The query of a request, checked."""

    sort: str
    state: Literal["open", "closed", "all"]
    offset: int
    limit: int
    cid: int
    mqtt_client: str
    user: str
    account: str
    filter_subject: str
    auth: bool
    subs: bool
    subs_detail: bool


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


async def answer_connz(source: MonitorSource, query: Mapping[str, str]) -> object:
    """Return the document for a query, whose subject counts only within an account.

    Raises:
        BadQuery: A value makes no sense.

    Source: nats-server `monitor.go`, `HandleConnz`, which does not look at `filter_subject`.
    """
    within = query if query.get("acc") else {**query, "filter_subject": ""}
    return await answer_connz_request(source, within)


async def answer_connz_request(source: MonitorSource, query: Mapping[str, str]) -> object:
    """Return the document for the options of a request.

    Raises:
        BadQuery: A value makes no sense.
    """
    question = _question_from_query(query)
    chosen, total = await _choose(source, question)
    if question.filter_subject:
        interested = await _interested(source, question)
        chosen = [it for it in chosen if it.row.link in interested]
    key, largest_first = _SORTS[question.sort]
    chosen.sort(key=key, reverse=largest_first)
    page = chosen[question.offset : question.offset + question.limit]
    shown = Wanted(auth=question.auth, subs=question.subs, details=question.subs_detail)
    return {
        **head(source),
        "num_connections": len(page),
        "total": total,
        "offset": question.offset,
        "limit": question.limit,
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


def _question_from_query(query: Mapping[str, str]) -> _Question:
    detail = query.get("subs", "").lower() == "detail"
    auth = read_bool(query, "auth")
    subs = not detail and read_bool(query, "subs")
    offset, limit = read_int(query, "offset"), read_int(query, "limit")
    cid = read_unsigned(query, "cid")
    state = _read_state(query)
    sort = query.get("sort", "") or "cid"
    if sort not in _SORTS:
        raise BadQuery(f"invalid sorting option: {sort[:100]}")
    if sort in {"stop", "reason"} and state != "closed":
        raise BadQuery(f"sort by {sort} only valid on closed connections")
    filter_subject = query.get("filter_subject", "")
    if filter_subject == ">":
        filter_subject = ""
    if filter_subject and not query.get("acc"):
        raise BadQuery("filter by subject only valid with account filtering")
    return _Question(
        sort=sort,
        state=state,
        offset=max(offset, 0),
        limit=1 if cid else limit if limit > 0 else CONNECTIONS_LISTED,
        cid=cid,
        mqtt_client=query.get("mqtt_client", ""),
        user=query.get("user", ""),
        account=query.get("acc", ""),
        filter_subject=filter_subject,
        auth=auth,
        subs=subs,
        subs_detail=detail,
    )


def _read_state(query: Mapping[str, str]) -> Literal["open", "closed", "all"]:
    text = query.get("state", "")
    match text.lower():
        case "" | "open":
            return "open"
        case "closed":
            return "closed"
        case "any" | "all":
            return "all"
        case _:
            raise BadQuery(f"Error decoding state for {text[:100]}")


async def _choose(source: MonitorSource, question: _Question) -> tuple[list[Connection], int]:
    """Return the connections asked for, and how many there are before users are told apart."""
    found: list[Connection] = []
    if question.state != "closed":
        rows = await source.links(LinkKind.CLIENT, account=_account_index(source, question.account))
        found += [
            Connection(row, source.client_connect(row), source.client_identity(row)) for row in rows
        ]
    if question.state != "open":
        found += [Connection(it.row, it.connect, it.identity, it) for it in source.closed_clients()]
    if question.account:
        found = [it for it in found if it.account == question.account]
    total = len(found)
    if question.user:
        found = [it for it in found if it.user == question.user]
    if question.mqtt_client:
        found = []
    if question.cid:
        found = [it for it in found if it.row.cid == question.cid][:1]
    return found, total


async def _interested(source: MonitorSource, question: _Question) -> set[LinkId]:
    """Return the clients that subscribe to the subject that is looked for."""
    links: set[LinkId] = set()
    slices = source.list_subscriptions(
        account=_account_index(source, question.account), subject=question.filter_subject, once=True
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
