from __future__ import annotations

import asyncio
from typing import Any

import pytest

from framework.dataplane import LinkKind, LinkRow, SublistCounters, SubscriptionRow
from framework.errors import BadQuery
from framework.monitor import ClosedClient
from framework.monitor.connz import answer_connz
from framework.monitor.healthz import answer_healthz
from framework.monitor.subsz import answer_subsz
from framework.wire.closed_state import ClosedState
from framework.wire.info import ClientConnect

SECOND_NS = 1_000_000_000


def row(cid: int, **changes: int) -> LinkRow:
    fields: dict[str, Any] = dict.fromkeys(LinkRow.__slots__, 0)
    fields |= {"link": cid, "kind": LinkKind.CLIENT, "cid": cid, "host": "127.0.0.1", "port": cid}
    return LinkRow(**{**fields, **changes})


def subscription(link: int, subject: bytes, **changes: Any) -> SubscriptionRow:
    fields: dict[str, Any] = {"queue": b"", "sid": b"1", "msgs": 0, "max_msgs": 0, "weight": 1}
    return SubscriptionRow(**{"link": link, "account": 0, "subject": subject, **fields, **changes})


class Source:
    """Three open clients, and two that are gone."""

    server_id, name = "N1", "n1"
    problems: tuple[str, ...] = ()

    def __init__(self) -> None:
        self.rows = [
            row(1, in_msgs=5, out_bytes=1, opened_ns=1, last_activity_ns=9 * SECOND_NS),
            row(2, in_msgs=7, out_bytes=9, opened_ns=2, last_activity_ns=2 * SECOND_NS, stalls=3),
            row(3, in_msgs=6, out_bytes=4, opened_ns=3, last_activity_ns=5 * SECOND_NS),
        ]
        self.gone = [
            ClosedClient(row(4), None, ClosedState.STALE_CONNECTION, 6 * SECOND_NS),
            ClosedClient(
                row(5), ClientConnect(name="me"), ClosedState.CLIENT_CLOSED, 7 * SECOND_NS
            ),
        ]
        self.subscribed = [
            subscription(1, b"a.*", queue=b"q"),
            subscription(3, b"a.b", max_msgs=4),
            subscription(3, b"\xff"),
        ]

    def monotonic_ns(self) -> int:
        return 10 * SECOND_NS

    def wall_ns(self, monotonic_ns: int) -> int:
        return monotonic_ns

    async def links(self, kind: LinkKind) -> list[LinkRow]:
        assert kind is LinkKind.CLIENT
        return self.rows

    async def subscriptions(self) -> list[SubscriptionRow]:
        return self.subscribed

    def client_connect(self, it: LinkRow) -> ClientConnect | None:
        return ClientConnect(name="first", user="joe", lang="c") if it.cid == 1 else None

    def closed_clients(self) -> list[ClosedClient]:
        return self.gone

    def account_name(self, account: int) -> str:
        assert account == 0
        return "$G"

    def sublist_counters(self) -> SublistCounters:
        return SublistCounters(
            inserts=9, removes=2, hits=3, misses=1, cached=1, fanout=5, fanout_max=5
        )

    def health_problems(self) -> tuple[str, ...]:
        return self.problems


def connz(**query: str) -> Any:
    return asyncio.run(answer_connz(Source(), query))  # type: ignore[arg-type]


def subsz(**query: str) -> Any:
    return asyncio.run(answer_subsz(Source(), query))  # type: ignore[arg-type]


def cids(**query: str) -> list[int]:
    return [it["cid"] for it in connz(**query)["connections"]]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, [1, 2, 3]),
        ({"sort": "msgs_from"}, [2, 3, 1]),
        ({"sort": "bytes_to"}, [2, 3, 1]),
        ({"sort": "last"}, [1, 3, 2]),
        ({"sort": "idle"}, [2, 3, 1]),
        ({"sort": "uptime"}, [3, 2, 1]),
        ({"state": "closed", "sort": "stop"}, [5, 4]),
        ({"state": "closed", "sort": "reason"}, [5, 4]),
        ({"state": "ALL"}, [1, 2, 3, 4, 5]),
        ({"offset": "1", "limit": "1"}, [2]),
        ({"offset": "9"}, []),
        ({"offset": "-4", "limit": "-1"}, [1, 2, 3]),
        ({"cid": "3"}, [3]),
        ({"cid": "5"}, []),
        ({"cid": "5", "state": "any"}, [5]),
        ({"user": "joe"}, [1]),
        ({"acc": "$G"}, [1, 2, 3]),
        ({"acc": "other"}, []),
        ({"acc": "$G", "filter_subject": "a.b"}, [1, 3]),
        ({"acc": "$G", "filter_subject": "c.>"}, []),
        ({"filter_subject": ">"}, [1, 2, 3]),
    ],
)
def test_which_connections_in_which_order(query: dict[str, str], expected: list[int]) -> None:
    assert cids(**query) == expected


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ({"sort": "size"}, "invalid sorting option: size"),
        ({"sort": "stop"}, "sort by stop only valid on closed connections"),
        ({"sort": "reason", "state": "all"}, "sort by reason only valid on closed connections"),
        ({"state": "half"}, "Error decoding state for half"),
        ({"filter_subject": "a"}, "filter by subject only valid with account filtering"),
    ],
)
def test_questions_that_make_no_sense(query: dict[str, str], problem: str) -> None:
    with pytest.raises(BadQuery) as caught:
        connz(**query)

    assert str(caught.value) == problem


def test_counts() -> None:
    document = connz(limit="2", offset="1", state="all")
    names = ("num_connections", "total", "offset", "limit")

    assert [document[name] for name in names] == [2, 5, 1, 2]


def test_an_open_connection() -> None:
    assert connz(cid="2")["connections"] == [
        {
            "cid": 2,
            "kind": "Client",
            "type": "nats",
            "ip": "127.0.0.1",
            "port": 2,
            "start": "1970-01-01T00:00:00.000000002Z",
            "last_activity": "1970-01-01T00:00:02Z",
            "rtt": "0s",
            "uptime": "9s",
            "idle": "8s",
            "pending_bytes": 0,
            "in_msgs": 7,
            "out_msgs": 0,
            "in_bytes": 0,
            "out_bytes": 9,
            "stalls": 3,
            "subscriptions": 0,
        }
    ]


def test_a_closed_connection() -> None:
    document = connz(cid="5", state="closed")["connections"][0]

    assert document["stop"] == "1970-01-01T00:00:07Z"
    assert document["reason"] == "Client Closed"
    assert document["uptime"] == "7s"
    assert document["name"] == "me"


def test_subscriptions_of_a_connection() -> None:
    names = connz(cid="3", subs="1")["connections"][0]["subscriptions_list"]
    details = connz(cid="3", subs="DETAIL")["connections"][0]["subscriptions_list_detail"]

    assert names == ["a.b", "\ufffd"]
    assert details[0] == {"subject": "a.b", "sid": "1", "msgs": 0, "max": 4, "cid": 3}
    assert "subscriptions_list" not in connz(cid="2", subs="1")["connections"][0]


def test_users_are_shown_on_demand() -> None:
    assert "authorized_user" not in connz(cid="1")["connections"][0]
    assert connz(cid="1", auth="1")["connections"][0]["authorized_user"] == "joe"


def test_subsz_counts_and_lists() -> None:
    assert subsz()["num_subscriptions"] == 3
    assert subsz()["total"] == 0
    assert subsz(subs="1", limit="1", offset="1")["subscriptions_list"] == [
        {
            "account": "$G",
            "account_tag": "$G",
            "subject": "a.b",
            "sid": "1",
            "msgs": 0,
            "max": 4,
            "cid": 3,
        }
    ]


def test_subsz_tests_a_subject() -> None:
    assert [it["subject"] for it in subsz(subs="1", test="a.b")["subscriptions_list"]] == [
        "a.*",
        "a.b",
    ]
    with pytest.raises(BadQuery, match=r"must be valid publish subject: a\.\*"):
        subsz(test="a.*")


def test_subsz_shows_what_the_subject_tables_did() -> None:
    document = subsz()
    names = ("num_cache", "num_inserts", "num_removes", "num_matches")

    assert [document[name] for name in names] == [1, 9, 2, 4]
    names = ("cache_hit_rate", "max_fanout", "avg_fanout")
    assert [document[name] for name in names] == [0.75, 5, 5]


def test_subsz_of_an_account() -> None:
    assert subsz(acc="$G")["num_subscriptions"] == 3
    assert subsz(acc="x", subs="1")["total"] == 0


@pytest.mark.parametrize(
    ("problems", "query", "expected"),
    [
        ((), {}, (200, {"status": "ok"})),
        ((), {"details": "1"}, (200, {"status": "ok"})),
        (("a: bad", "b"), {}, (503, {"status": "unavailable", "error": "a: bad; b"})),
        (
            ("bad",),
            {"details": "1"},
            (503, {"status": "error", "errors": [{"type": "CONNECTION", "error": "bad"}]}),
        ),
    ],
)
def test_healthz(problems: tuple[str, ...], query: dict[str, str], expected: Any) -> None:
    source = Source()
    source.problems = problems
    answer = asyncio.run(answer_healthz(source, query))  # type: ignore[arg-type]

    assert (answer.status, answer.document) == expected


def test_healthz_refuses_flags_that_are_none() -> None:
    with pytest.raises(BadQuery):
        asyncio.run(answer_healthz(Source(), {"js-enabled-only": "x"}))  # type: ignore[arg-type]
