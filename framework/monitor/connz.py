"""`/connz`: client connections, open and closed.

Source: nats-server `monitor.go`, `Connz`.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct

from framework.errors import BadQuery
from framework.monitor.connection_document import Connection, Wanted, connection_document
from framework.monitor.head import head
from framework.monitor.limits import CONNECTIONS_LISTED
from framework.spec import LinkKind
from framework.spec.query import read_bool, read_int, read_unsigned
from framework.wire.overlap import overlaps

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from framework.monitor.source import MonitorSource
    from framework.spec import SubscriptionRow


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
    """Return the document for a query.

    Raises:
        BadQuery: A value makes no sense.
    """
    question = _question_from_query(query)
    chosen, total = await _choose(source, question)
    subscriptions: dict[int, list[SubscriptionRow]] = defaultdict(list)
    if question.subs or question.subs_detail or question.filter_subject:
        for subscription in await source.subscriptions():
            subscriptions[subscription.link].append(subscription)
    if question.filter_subject:
        wanted = question.filter_subject.encode()
        chosen = [it for it in chosen if _has_interest(subscriptions[it.row.link], wanted)]
    key, largest_first = _SORTS[question.sort]
    chosen.sort(key=key, reverse=largest_first)
    page = chosen[question.offset : question.offset + question.limit]
    shown = Wanted(auth=question.auth, subs=question.subs, details=question.subs_detail)
    now_ns = source.monotonic_ns()
    return {
        **head(source),
        "num_connections": len(page),
        "total": total,
        "offset": question.offset,
        "limit": question.limit,
        "connections": [
            connection_document(source, it, shown, subscriptions[it.row.link], now_ns)
            for it in page
        ],
    }


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
        rows = await source.links(LinkKind.CLIENT)
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


def _has_interest(rows: Sequence[SubscriptionRow], subject: bytes) -> bool:
    return any(overlaps(subject, row.subject) for row in rows)
