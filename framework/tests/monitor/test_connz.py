from __future__ import annotations

import base64
from typing import Any

import pytest

from framework.errors import BadQuery
from framework.monitor.connz import answer_connz, answer_connz_request
from framework.monitor.options import ALL, ConnzOptions
from framework.monitor.request_options import options_from_query
from framework.monitor.source import ClosedClient
from framework.tests.monitor.sources import SECOND_NS, Source, shown
from framework.wire.closed_state import ClosedState


def connz(**query: str) -> Any:
    return shown(answer_connz(Source(), options_from_query(ConnzOptions, query)))  # type: ignore[arg-type]


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
        ({"user": "ann", "state": "all"}, [5]),
        ({"mqtt_client": "m"}, []),
        ({"acc": "$G"}, [1, 2, 3]),
        ({"acc": "$G", "state": "all"}, [1, 2, 3, 4]),
        ({"acc": "A", "state": "closed"}, [5]),
        ({"acc": "A"}, []),
        ({"acc": "other"}, []),
        ({"acc": "$G", "filter_subject": "a.b"}, [1, 3]),
        ({"acc": "$G", "filter_subject": "c.>"}, []),
        ({"filter_subject": ">"}, [1, 2, 3]),
        ({"filter_subject": "c.>"}, [1, 2, 3]),
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
    ],
)
def test_questions_that_make_no_sense(query: dict[str, str], problem: str) -> None:
    with pytest.raises(BadQuery) as caught:
        connz(**query)

    assert str(caught.value) == problem


def test_a_request_looks_for_a_subject_within_an_account_only() -> None:
    with pytest.raises(BadQuery, match="filter by subject only valid with account filtering"):
        shown(answer_connz_request(Source(), ConnzOptions(filter_subject="a")))  # type: ignore[arg-type]


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


def test_a_connection_that_closes_meanwhile_is_told_once() -> None:
    source = Source()
    source.gone.append(ClosedClient(source.rows[1], None, ClosedState.CLIENT_CLOSED, SECOND_NS))
    document: Any = shown(answer_connz(source, ConnzOptions(state=ALL)))  # type: ignore[arg-type]

    assert [1, 2, 3, 4, 5] == [it["cid"] for it in document["connections"]]
    assert "reason" not in document["connections"][1]


def test_subscriptions_of_a_connection() -> None:
    names = connz(cid="3", subs="1")["connections"][0]["subscriptions_list"]
    details = connz(cid="3", subs="DETAIL")["connections"][0]["subscriptions_list_detail"]

    assert names == ["a.b", "\ufffd"]
    assert details[0] == {"subject": "a.b", "sid": "1", "msgs": 0, "max": 4, "cid": 3}
    assert "subscriptions_list" not in connz(cid="2", subs="1")["connections"][0]


LOGIN = ("authorized_user", "account", "jwt", "issuer_key", "name_tag", "tags")


def login(document: Any) -> dict[str, object]:
    return {name: document[name] for name in LOGIN if name in document}


def test_who_a_client_is_is_shown_on_demand() -> None:
    shown = {"authorized_user": "joe", "jwt": "e.e.e", "issuer_key": "OK", "name_tag": "$G"}

    assert login(connz(cid="1")["connections"][0]) == {}
    assert login(connz(cid="1", auth="1")["connections"][0]) == shown
    assert list(login(connz(cid="1", auth="1")["connections"][0])) == list(shown)


def test_a_client_of_an_account_shows_it_when_it_is_gone_too() -> None:
    source = Source()
    source.join(2, "A", user="bob")
    answer: Any = shown(answer_connz(source, ConnzOptions(auth=True, state=ALL)))  # type: ignore[arg-type]
    logins = {it["cid"]: login(it) for it in answer["connections"]}

    assert logins[2] == {"authorized_user": "bob", "account": "A", "name_tag": "Aa"}
    assert logins[3] == {"name_tag": "$G"}
    assert logins[4] == {}
    assert logins[5] == {
        "authorized_user": "ann",
        "account": "A",
        "name_tag": "Aa",
        "tags": ["t"],
    }


def test_a_token_that_is_enough_to_log_in_with_is_not_shown() -> None:
    claim = base64.urlsafe_b64encode(b'{"nats":{"bearer_token":true}}').decode().rstrip("=")
    source = Source()
    source.join(1, "$G", jwt=f"e.{claim}.e")
    answer: Any = shown(answer_connz(source, ConnzOptions(auth=True, cid=1)))  # type: ignore[arg-type]

    assert "jwt" not in answer["connections"][0]


def test_tls_of_a_connection() -> None:
    source = Source()
    source.join_by_tls(3)
    answer: Any = shown(answer_connz(source, ConnzOptions(cid=3)))  # type: ignore[arg-type]
    document = answer["connections"][0]

    assert document["type"] == "websocket"
    assert [document[f"tls_{it}"] for it in ("version", "cipher_suite", "first")] == [
        "1.3",
        "TLS_AES_128_GCM_SHA256",
        True,
    ]
