from __future__ import annotations

from typing import Any

import pytest

from framework.errors import BadQuery
from framework.monitor.options import SubszOptions
from framework.monitor.request_options import options_from_query
from framework.monitor.subsz import answer_account_subsz, answer_subsz
from framework.tests.monitor.sources import Source, shown, subscription


def subsz(**query: str) -> Any:
    return shown(answer_subsz(Source(), options_from_query(SubszOptions, query)))  # type: ignore[arg-type]


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
    assert subsz(acc="A")["num_subscriptions"] == 0
    assert subsz(acc="x", subs="1")["total"] == subsz(acc="x")["num_inserts"] == 0


def test_a_subscription_has_the_name_of_its_account() -> None:
    source = Source()
    source.subscribed.append(subscription(2, b"here", account=2))
    answer: Any = shown(answer_subsz(source, SubszOptions(subscriptions=True, account="A")))  # type: ignore[arg-type]
    details = {"subject": "here", "sid": "1", "msgs": 0, "cid": 2}

    assert answer["subscriptions_list"] == [{"account": "A", "account_tag": "Aa", **details}]


def test_a_request_for_an_account_always_lists() -> None:
    answer: Any = shown(answer_account_subsz(Source(), SubszOptions(account="$G")))  # type: ignore[arg-type]

    assert answer["total"] == 3
