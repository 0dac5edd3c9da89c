from __future__ import annotations

import asyncio
from typing import Annotated

import pytest
from msgspec import Struct

from framework.errors import BadOptions, BadQuery
from framework.monitor.options import (
    ALL,
    CLOSED,
    OPEN,
    AccountStatzOptions,
    AccountzOptions,
    ConnzOptions,
    HealthzOptions,
)
from framework.monitor.request_options import (
    answer_query,
    answer_request,
    members_of_payload,
    options_from_members,
    options_from_query,
)
from framework.spec import GatewayzOptions, InQuery, MonitorEndpoint, NoOptions, Unsigned
from framework.spec.request_options import option_fields


def options(record, payload):
    return options_from_members(record, members_of_payload(payload))


@pytest.mark.parametrize("payload", [b"", b"null", b"{}", b'{"auth":null}', b'{"auth":false}'])
def test_what_says_nothing_asks_for_what_is_assumed_anyhow(payload):
    assert options(ConnzOptions, payload) == ConnzOptions()


@pytest.mark.parametrize(
    ("payload", "query", "expected"),
    [
        (b'{"subscriptions":true}', {"subs": "1"}, {"subscriptions": True}),
        (b'{"subscriptions_detail":true}', {"subs": "Detail"}, {"subscriptions_detail": True}),
        (b'{"state":0}', {"state": "OPEN"}, {"state": OPEN}),
        (b'{"state":1}', {"state": "closed"}, {"state": CLOSED}),
        (b'{"state":2,"CID":7}', {"state": "any", "cid": "7"}, {"state": ALL, "cid": 7}),
        (b'{"offset":-1,"limit":9}', {"offset": "-1", "limit": "9"}, {"offset": -1, "limit": 9}),
        (b'{"acc":"A","user":"u"}', {"acc": "A", "user": "u"}, {"account": "A", "user": "u"}),
        (b'{"server_name":"one","exact_match":true,"what":{}}', {"server_name": "one"}, {}),
    ],
)  # fmt: skip
def test_a_request_and_a_query_set_the_same_options(payload, query, expected):
    assert options(ConnzOptions, payload) == ConnzOptions(**expected)
    assert options_from_query(ConnzOptions, query) == ConnzOptions(**expected)


def test_options_that_only_a_request_can_set():
    both = options(ConnzOptions, b'{"subscriptions":true,"subscriptions_detail":true,"state":7}')

    assert both == ConnzOptions(subscriptions=True, subscriptions_detail=True, state=7)
    assert options(AccountStatzOptions, b'{"accounts":["A","B"]}').accounts == ("A", "B")
    assert options_from_query(AccountStatzOptions, {"accounts": "A"}) == AccountStatzOptions()


def test_names_in_json_differ_from_those_in_a_url():
    asked = b'{"name":"west","accounts":true,"account_name":"A"}'
    expected = GatewayzOptions(name="west", accounts=True, account_name="A")

    assert options(GatewayzOptions, asked) == expected
    query = {"gw_name": "west", "accs": "1", "acc_name": "A"}
    assert options_from_query(GatewayzOptions, query) == expected
    assert options(HealthzOptions, b'{"js-enabled-only":true}').js_enabled_only


@pytest.mark.parametrize(
    ("payload", "found", "field"),
    [
        (b'{"limit":"x"}', "string", "limit of type int"),
        (b'{"limit":1.5}', "number 1.5", "limit of type int"),
        (b'{"limit":true}', "bool", "limit of type int"),
        (b'{"limit":9223372036854775808}', "number 9223372036854775808", "limit of type int"),
        (b'{"cid":-1}', "number -1", "cid of type uint64"),
        (b'{"auth":1}', "number", "auth of type bool"),
        (b'{"acc":[]}', "array", "acc of type string"),
        (b'{"acc":{}}', "object", "acc of type string"),
    ],
)
def test_values_of_a_wrong_type_are_refused_in_the_words_of_nats_server(payload, found, field):
    with pytest.raises(BadOptions) as caught:
        options(ConnzOptions, payload)

    assert str(caught.value) == (
        f"json: cannot unmarshal {found} into Go struct field "
        f"ConnzEventOptions.ConnzOptions.{field}"
    )


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        (b"[1]", "cannot unmarshal array into options: an object is expected"),
        (b"7", "cannot unmarshal number into options"),
        (b"hello", "no JSON"),
        (b'{"limit":', "no JSON"),
        (b"\xff", "no JSON"),
        (b"[" * 100_000, "no JSON"),
        (b'{"limit":1%b}' % (b"0" * 4_000), "into Go struct field"),
    ],
)
def test_bad_payloads_are_named_shortly(payload, text):
    with pytest.raises(BadOptions) as caught:
        options(ConnzOptions, payload)

    assert text in str(caught.value)
    assert len(str(caught.value)) < 300


def test_a_list_of_something_else_is_a_bad_option():
    with pytest.raises(BadOptions, match=r"number into Go .*accounts of type string$"):
        options(AccountStatzOptions, b'{"accounts":["A",1]}')
    with pytest.raises(BadOptions, match=r"string into Go .*accounts of type \[\]string$"):
        options(AccountStatzOptions, b'{"accounts":"A"}')


def test_values_of_a_query_are_refused_in_its_own_words():
    with pytest.raises(BadQuery, match="Error decoding int for 'limit'"):
        options_from_query(ConnzOptions, {"limit": "x"})
    with pytest.raises(BadQuery, match="Error decoding boolean for 'subs'"):
        options_from_query(ConnzOptions, {"subs": "x"})
    with pytest.raises(BadQuery, match="Error decoding state for x"):
        options_from_query(ConnzOptions, {"state": "x"})


async def echo(options):
    return options


def test_the_account_of_the_subject_counts_more_than_that_of_the_options():
    accountz = MonitorEndpoint(answer=echo, request="X", options=AccountzOptions)
    statz = MonitorEndpoint(answer=echo, account_request="X", options=AccountStatzOptions)

    def ask(endpoint, members, account=""):
        return asyncio.run(answer_request(endpoint, members, account=account))

    assert ask(accountz, {"account": "B"}).account == "B"
    assert ask(accountz, {"account": "B"}, "A").account == "A"
    assert ask(statz, {"accounts": ["B"]}, "A").accounts == ("A",)


def test_a_document_without_options_minds_nothing():
    endpoint = MonitorEndpoint(answer=echo, path="/x")

    assert asyncio.run(answer_query(endpoint, {"subs": "x"})) == NoOptions()
    assert asyncio.run(answer_request(endpoint, {"subs": "x"})) == NoOptions()


class Everything(Struct):
    flag: bool = False
    number: int = 0
    count: Unsigned = 0
    text: str = ""
    texts: tuple[str, ...] = ()
    hidden: Annotated[str, InQuery("")] = ""


def test_every_type_of_option_is_read_from_both():
    query = {"flag": "true", "number": "-1", "count": "2", "text": "a b", "texts": "a,b"}
    expected = Everything(flag=True, number=-1, count=2, text="a b", texts=("a", "b"))

    assert options_from_query(Everything, {**query, "hidden": "x", "": "x"}) == expected
    payload = b'{"flag":true,"number":-1,"count":2,"text":"a b","texts":["a","b"]}'
    assert options(Everything, payload) == expected


class NoDefault(Struct):
    name: str


class NoKind(Struct):
    when: float = 0


@pytest.mark.parametrize(
    ("record", "text"),
    [
        (NoDefault, "NoDefault.name: expected a default"),
        (NoKind, "NoKind.when: expected bool, int, Unsigned, str or tuple"),
    ],
)
def test_a_struct_that_holds_no_options_is_refused(record, text):
    with pytest.raises(TypeError, match=text):
        option_fields(record)
