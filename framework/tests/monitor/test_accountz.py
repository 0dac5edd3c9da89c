from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from msgspec.structs import replace

from framework.errors import BadQuery, NoAnswer
from framework.monitor.accountz import answer_account_info, answer_accountz
from framework.monitor.accstatz import answer_accstatz, answer_accstatz_request
from framework.monitor.options import AccountStatzOptions, AccountzOptions
from framework.monitor.request_options import options_from_query
from framework.spec import (
    AccountSpec,
    LatencySampling,
    MappedDestination,
    ResponseKind,
    ServiceExport,
    ServiceImport,
    StreamExport,
    StreamImport,
    SubjectMapping,
)
from framework.tests.account_book import Book
from framework.tests.monitor.sources import SECOND_NS, Source, shown

OWN_IMPORT = {
    "subject": "$SYS.REQ.USER.A.INFO",
    "account": "$SYS",
    "to": "$SYS.REQ.USER.INFO",
    "local_subject": "$SYS.REQ.USER.INFO",
    "type": "service",
    "invalid": False,
    "share": True,
    "tracking": False,
}


def accountz(source: Source | None = None, **query: str) -> Any:
    return shown(answer_accountz(source or Source(), options_from_query(AccountzOptions, query)))  # type: ignore[arg-type]


def accstatz(source: Source, **options: Any) -> list[str]:
    document: Any = shown(answer_accstatz(source, AccountStatzOptions(**options)))  # type: ignore[arg-type]
    return [it["acc"] for it in document["account_statz"]]


def source_with(**changes: Any) -> Source:
    source = Source()
    source.accounts = Book(AccountSpec(name="$G"), AccountSpec(name="A", **changes))
    return source


def test_all_accounts() -> None:
    document = accountz()

    assert document["accounts"] == ["$G", "$SYS", "A"]
    assert document["system_account"] == "$SYS"
    assert "account_detail" not in document


def test_one_account() -> None:
    source = Source()
    source.join(2, "A")
    shown = accountz(source, acc="A")["account_detail"]
    stats = shown.pop("sublist_stats")

    assert shown == {
        "account_name": "A",
        "update_time": "1970-01-01T00:00:04Z",
        "expired": False,
        "complete": True,
        "jetstream_enabled": False,
        "leafnode_connections": 0,
        "client_connections": 1,
        "subscriptions": 0,
        "imports": [OWN_IMPORT],
        "name_tag": "Aa",
    }
    assert stats["num_inserts"] == 9


def test_the_system_account_says_that_it_is_it() -> None:
    shown = accountz(acc="$SYS")["account_detail"]

    assert shown["is_system"]
    assert [it["subject"] for it in shown["exports"]] == ["$SYS.DEBUG.SUBSCRIBERS"]
    assert "is_system" not in accountz(acc="$G")["account_detail"]


def test_an_account_that_is_not_known() -> None:
    with pytest.raises(BadQuery, match=r"^Account nope does not exist$"):
        accountz(acc="nope")
    with pytest.raises(BadQuery):
        shown(answer_account_info(Source(), AccountzOptions()))  # type: ignore[arg-type]


def test_exports() -> None:
    source = source_with(
        stream_exports=(StreamExport(subject="st.>", accounts=("B", "C")),),
        service_exports=(
            ServiceExport(subject="s", latency=LatencySampling(subject="lat", percent=50)),
            ServiceExport(subject="t", response=ResponseKind.CHUNKED, token_required=True),
            ServiceExport(subject="u", revoked=(("*", 1),)),
        ),
    )

    assert accountz(source, acc="A")["account_detail"]["exports"] == [
        {
            "subject": "s",
            "type": "service",
            "response_type": "Singleton",
            "service_latency": {"sampling": 50, "results": "lat"},
        },
        {"subject": "t", "type": "service", "token_req": True, "response_type": "Chunked"},
        {
            "subject": "u",
            "type": "service",
            "response_type": "Singleton",
            "revoked_activations": {"*": "1970-01-01T00:00:01Z"},
        },
        {"subject": "st.>", "type": "stream", "approved_accounts": ["B", "C"]},
    ]


def test_imports() -> None:
    source = source_with(
        stream_imports=(StreamImport(account="B", subject="st.>", to="b.st.>"),),
        service_imports=(
            ServiceImport(account="gone", subject="s", to="t", share=True),
            ServiceImport(account="$G", subject="m", to="m"),
        ),
    )
    latency = LatencySampling(subject="lat", percent=0)
    exporter = AccountSpec(
        name="$G", service_exports=(ServiceExport(subject="*", latency=latency),)
    )
    source.accounts.specs["$G"] = exporter
    stream, shut, measured, own = accountz(source, acc="A")["account_detail"]["imports"]

    assert stream == {
        "subject": "st.>",
        "account": "B",
        "local_subject": "b.st.>",
        "type": "stream",
        "invalid": False,
        "share": False,
        "tracking": False,
    }
    assert [shut[it] for it in ("to", "local_subject", "invalid", "share")] == [
        "t",
        "t",
        True,
        True,
    ]
    assert measured["latency"] == {"sampling": "headers", "results": "lat"}
    assert own == OWN_IMPORT


@pytest.mark.parametrize(
    ("destinations", "expected"),
    [
        ([("b", 100, "")], [("b", 100, "")]),
        ([("b", 30, ""), ("c", 20, "")], [("c", 20, ""), ("b", 50, ""), ("m.$1.x.$2", 100, "")]),
        ([("b", 30, ""), ("m.*.x.*", 20, "")], [("m.*.x.*", 20, ""), ("b", 50, "")]),
        (
            [("b", 60, "east")],
            [("m.$1.x.$2", 100, ""), ("m.$1.x.$2", 40, "east"), ("b", 100, "east")],
        ),
    ],
)  # fmt: skip
def test_mappings(destinations: list[Any], expected: list[Any]) -> None:
    made = tuple(MappedDestination(subject=s, weight=w, cluster=c) for s, w, c in destinations)
    source = source_with(mappings=(SubjectMapping(source="m.*.x.*", destinations=made),))
    shown = accountz(source, acc="A")["account_detail"]["mappings"]["m.*.x.*"]

    assert [(it["subject"], it["weight"], it.get("cluster", "")) for it in shown] == expected


def test_an_account_of_a_claim() -> None:
    claim = {"iss": "O", "nats": {"revocations": {"UA": 1, "UB": "x"}}}
    part = base64.urlsafe_b64encode(json.dumps(claim).encode()).decode().rstrip("=")
    source = source_with(claim=f"e.{part}.e", issuer="O", name_tag="acme", tags=("t",))
    shown = accountz(source, acc="A")["account_detail"]

    assert shown["decoded_jwt"] == claim
    assert shown["revoked_user"] == {"UA": "1970-01-01T00:00:01Z"}
    assert [shown[it] for it in ("jwt", "issuer_key", "name_tag", "tags")] == [
        f"e.{part}.e",
        "O",
        "acme",
        ["t"],
    ]


@pytest.mark.parametrize("claim", ["x", "a.b.c", "a.W10.c", "a." + "!" * 9 + ".c", "a.bm8.c"])
def test_a_claim_that_is_none_is_shown_as_it_is(claim: str) -> None:
    shown = accountz(source_with(claim=claim), acc="A")["account_detail"]

    assert shown["jwt"] == claim
    assert "decoded_jwt" not in shown


@pytest.mark.parametrize(("expires_s", "is_expired"), [(0.0, False), (9.5, True), (10.5, False)])
def test_an_account_that_has_expired(expires_s: float, is_expired: bool) -> None:  # noqa: FBT001
    source = source_with(expires_s=expires_s)

    assert source.monotonic_ns() == 10 * SECOND_NS
    assert accountz(source, acc="A")["account_detail"]["expired"] is is_expired


def test_statistics_are_of_accounts_with_clients_unless_all_are_asked_for() -> None:
    source = Source()
    source.join(2, "A")

    assert accstatz(source) == ["$G", "A"]
    assert accstatz(source, include_unused=True) == ["$G", "$SYS", "A"]
    assert accstatz(source, accounts=("A", "$SYS", "nope")) == ["A"]
    assert accstatz(source, accounts=("$SYS",)) == []
    assert accstatz(source, accounts=("nope",), include_unused=True) == []


def test_statistics_of_an_account() -> None:
    source = Source()
    source.join(1, "A")
    source.subscribed = [replace(it, account=2) for it in source.subscribed]
    document: Any = shown(answer_accstatz(source, AccountStatzOptions(accounts=("A",))))  # type: ignore[arg-type]
    nothing = {"msgs": 0, "bytes": 0}

    assert document["account_statz"] == [
        {
            "acc": "A",
            "name": "Aa",
            "conns": 1,
            "leafnodes": 0,
            "total_conns": 1,
            "num_subscriptions": 3,
            "sent": {
                "msgs": 4,
                "bytes": 5,
                "gateways": nothing,
                "routes": {"msgs": 8, "bytes": 9},
                "leafs": nothing,
            },
            "received": {
                "msgs": 2,
                "bytes": 3,
                "gateways": nothing,
                "routes": {"msgs": 6, "bytes": 7},
                "leafs": nothing,
            },
            "slow_consumers": 10,
        }
    ]


def test_nobody_answers_a_message_for_an_account_that_is_elsewhere() -> None:
    source: Any = Source()
    with pytest.raises(NoAnswer):
        shown(answer_accstatz_request(source, AccountStatzOptions(accounts=("A",))))

    assert shown(
        answer_accstatz_request(source, AccountStatzOptions(accounts=("A",), include_unused=True))
    )
    assert shown(answer_accstatz_request(source, AccountStatzOptions()))
