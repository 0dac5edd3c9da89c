"""The parts that need no server."""

from __future__ import annotations

import json

import pytest
from framework_auth_http.answer import answer_from_response
from framework_auth_http.cache import Cache
from framework_auth_http.circuit import Circuit
from framework_auth_http.errors import ServiceError

from framework.spec import (
    Accepted,
    ClientConnect,
    ConnectionLimits,
    LinkKind,
    LoginRequest,
    Permissions,
    ResponsePermission,
    SubjectRules,
)


def request(host="127.0.0.1", **connect):
    client = ClientConnect(**{"user": "joe", **connect})
    return LoginRequest(link=1, kind=LinkKind.CLIENT, cid=1, host=host, port=1, connect=client)


def answer(document):
    return answer_from_response(request(), 200, json.dumps(document).encode())


def test_all_that_a_service_may_say():
    rules = {
        "publish": {"allow": ["orders.>"], "deny": ["orders.old"]},
        "subscribe": {"allow": ["_INBOX.>", "jobs workers.*"]},
        "allow_responses": 3,
    }
    document = {
        "user": "Joseph",
        "account": "A",
        "permissions": rules,
        "max_subscriptions": 5,
        "max_payload": 6,
        "expires": 7.5,
    }

    assert answer(document) == Accepted(
        user="Joseph",
        account="A",
        permissions=Permissions(
            publish=SubjectRules(allow=("orders.>",), deny=("orders.old",)),
            subscribe=SubjectRules(allow=("_INBOX.>", "jobs workers.*")),
            responses=ResponsePermission(max_msgs=3),
        ),
        limits=ConnectionLimits(max_subscriptions=5, max_payload=6),
        expires_s=7.5,
    )


@pytest.mark.parametrize(
    "document",
    [
        [],
        None,
        "yes",
        {"permissions": []},
        {"permission": {}},
        {"permissions": {"pub": {"deny": ["a"]}}},
        {"permissions": {"publish": {"denied": ["a"]}}},
        {"permissions": {"publish": {"deny": "a.b"}}},
        {"permissions": {"publish": {"deny": ["a..b"]}}},
        {"permissions": {"publish": {"deny": ["a q"]}}},
        {"permissions": {"subscribe": {"deny": ["a q r"]}}},
        {"permissions": {"allow_responses": "many"}},
        {"user": ""},
        {"account": None},
        {"max_payload": "much"},
        {"expires": {}},
    ],
)
def test_what_is_not_understood_lets_nobody_in(document):
    with pytest.raises(ServiceError) as caught:
        answer(document)

    assert str(caught.value).startswith("its answer can't be read")


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 100_000, b'{"max_payload":1e999}'])
def test_bytes_that_are_no_answer_let_nobody_in(body):
    with pytest.raises(ServiceError):
        answer_from_response(request(), 200, body)


class Clock:
    def __init__(self):
        self.now_s = 100.0

    def __call__(self):
        return self.now_s


def test_the_cache_forgets_in_time_and_keeps_whom_it_saw_last():
    clock = Clock()
    cache = Cache(ttl_s=10, size_max=2, now_s=clock)
    for user in ("a", "b"):
        cache.put(cache.key_of(request(user=user)), Accepted(user))
    assert cache.get(cache.key_of(request(user="a")))
    cache.put(cache.key_of(request(user="c")), Accepted("c"))
    kept = [user for user in "abc" if cache.get(cache.key_of(request(user=user)))]
    clock.now_s += 10

    assert kept == ["a", "c"]
    assert not [user for user in "abc" if cache.get(cache.key_of(request(user=user)))]


def test_a_key_stands_for_everything_that_counts_and_holds_no_secret():
    cache = Cache(ttl_s=10, size_max=2, now_s=Clock())
    keys = [
        cache.key_of(it)
        for it in (
            request(user="ab", password="c"),
            request(user="a", password="bc"),
            request(user="a", auth_token="bc"),
            request(user="a", password="bc", host="::1"),
        )
    ]

    assert len(set(keys)) == 4
    assert keys[0] != Cache(ttl_s=1, size_max=1, now_s=Clock()).key_of(
        request(user="ab", password="c")
    )


def test_a_circuit_lets_one_try_for_all_others():
    clock, told = Clock(), []
    circuit = Circuit(failures_max=2, pause_s=5, now_s=clock, report=told.append)
    for _ in range(2):
        circuit.begin()
        circuit.failed("silence")
    with pytest.raises(ServiceError):
        circuit.begin()
    clock.now_s += 5
    circuit.begin()
    with pytest.raises(ServiceError):
        circuit.begin()
    circuit.succeeded()
    circuit.begin()

    assert [text.partition(":")[0] for text in told] == [
        "The login service did not decide",
        "The login service is down, it is left alone for a while",
        "The login service is back",
    ]


def test_a_try_that_fails_closes_it_for_as_long_again():
    clock = Clock()
    circuit = Circuit(failures_max=1, pause_s=5, now_s=clock, report=lambda _: None)
    circuit.begin()
    circuit.failed("silence")
    clock.now_s += 6
    circuit.begin()
    clock.now_s += 4
    circuit.failed("silence")
    clock.now_s += 4
    with pytest.raises(ServiceError):
        circuit.begin()
