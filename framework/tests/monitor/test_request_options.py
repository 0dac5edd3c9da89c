from __future__ import annotations

import asyncio

import pytest

from framework.errors import BadOptions, BadQuery
from framework.monitor.options import (
    ACCSTATZ_OPTIONS,
    CONNZ_OPTIONS,
    GATEWAYZ_OPTIONS,
    HEALTHZ_OPTIONS,
)
from framework.monitor.request_options import (
    answer_request,
    options_from_payload,
    query_from_options,
)
from framework.spec import MonitorEndpoint


def query(options, payload):
    return query_from_options(options, options_from_payload(payload))


@pytest.mark.parametrize("payload", [b"", b"null", b"{}", b'{"auth":null}', b'{"auth":false}'])
def test_what_says_nothing_asks_for_what_is_assumed_anyhow(payload):
    assert query(CONNZ_OPTIONS, payload) == {}


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        (b'{"subscriptions":true}', {"subs": "1"}),
        (b'{"subscriptions":true,"subscriptions_detail":true}', {"subs": "detail"}),
        (b'{"subscriptions_detail":true,"subscriptions":false}', {"subs": "detail"}),
        (b'{"state":0}', {"state": "open"}),
        (b'{"state":1}', {"state": "closed"}),
        (b'{"state":2,"CID":7}', {"state": "all", "cid": "7"}),
        (b'{"state":7}', {"state": "7"}),
        (b'{"offset":-1,"limit":9}', {"offset": "-1", "limit": "9"}),
        (b'{"acc":"A","user":"u","filter_subject":"a.>"}',
         {"acc": "A", "user": "u", "filter_subject": "a.>"}),
        (b'{"server_name":"one","exact_match":true,"what":{}}', {}),
    ],
)  # fmt: skip
def test_options_of_connz(payload, expected):
    assert query(CONNZ_OPTIONS, payload) == expected


def test_names_in_json_differ_from_those_in_a_url():
    asked = b'{"name":"west","accounts":true,"account_name":"A"}'

    assert query(GATEWAYZ_OPTIONS, asked) == {"gw_name": "west", "accs": "1", "acc_name": "A"}
    assert query(HEALTHZ_OPTIONS, b'{"js-enabled-only":true}') == {"js-enabled-only": "1"}
    assert query(ACCSTATZ_OPTIONS, b'{"accounts":["A","B"],"include_unused":true}') == {
        "accounts": "A B",
        "unused": "1",
    }


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        (b'{"limit":"x"}', 'json: cannot unmarshal "x" into field limit of type int'),
        (b'{"limit":1.5}', "json: cannot unmarshal 1.5 into field limit of type int"),
        (b'{"limit":true}', "json: cannot unmarshal true into field limit of type int"),
        (b'{"limit":9223372036854775808}', "9223372036854775808 into field limit of type int"),
        (b'{"cid":-1}', "json: cannot unmarshal -1 into field cid of type uint64"),
        (b'{"auth":1}', "json: cannot unmarshal 1 into field auth of type bool"),
        (b'{"sort":[]}', "json: cannot unmarshal [] into field sort of type string"),
        (b"[1]", "an object is expected"),
        (b"hello", "no JSON"),
        (b'{"limit":', "no JSON"),
        (b"\xff", "no JSON"),
        (b"[" * 100_000, "no JSON"),
    ],
)
def test_bad_options_are_named(payload, text):
    with pytest.raises(BadOptions) as caught:
        query(CONNZ_OPTIONS, payload)

    assert text in str(caught.value)
    assert len(str(caught.value)) < 300


def test_a_list_of_something_else_is_a_bad_option():
    with pytest.raises(BadOptions):
        query(ACCSTATZ_OPTIONS, b'{"accounts":["A",1]}')


async def echo(query):
    if query.get("sort") == "xx":
        raise BadQuery("invalid sorting option: xx")
    return query


def test_the_account_of_the_subject_counts_more_than_that_of_the_options():
    endpoint = MonitorEndpoint(answer=echo, request="CONNZ", options=CONNZ_OPTIONS)

    assert asyncio.run(answer_request(endpoint, {"acc": "B"})) == {"acc": "B"}
    assert asyncio.run(answer_request(endpoint, {"acc": "B"}, account="A")) == {"acc": "A"}


def test_a_value_that_makes_no_sense_is_no_bad_option():
    endpoint = MonitorEndpoint(answer=echo, request="CONNZ", options=CONNZ_OPTIONS)
    with pytest.raises(BadQuery) as caught:
        asyncio.run(answer_request(endpoint, {"sort": "xx"}))

    assert not isinstance(caught.value, BadOptions)
