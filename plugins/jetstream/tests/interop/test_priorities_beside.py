"""Priority groups and turns of requests beside the real server's."""

from __future__ import annotations

import re

import pytest

pytestmark = pytest.mark.interop

STREAM = {"name": "S", "subjects": ["s"], "storage": "memory"}
PULL = {"name": "C", "ack_policy": "explicit", "inactive_threshold": 600_000_000_000}
NEXT = "$JS.API.CONSUMER.MSG.NEXT.S.C"
LONG = 60_000_000_000
_PIN = re.compile(rb"Nats-Pin-Id: (\S+)")


def words_of(answer):
    """Return what an answer says: a status, or which message with which headers."""
    head, payload = answer
    if payload:
        return payload.decode() + (" pinned" if _PIN.search(head) else "")
    return head.decode().strip()


def begin(pair, **more):
    for it in pair:
        it.api("STREAM.CREATE.S", STREAM)
        it.api("CONSUMER.CREATE.S.C", {"stream_name": "S", "config": {**PULL, **more}})


def asked(pair, request, count=1):
    """Return what both say to a request, `count` answers each."""
    ours, theirs = ([words_of(it) for it in pulled(one, request, count)] for one in pair)

    assert theirs == ours, request
    return ours


def pulled(client, request, count=1):
    """Return `count` answers to a request for messages."""
    reply = client.listen()
    client.request(NEXT, request, reply)
    return [client.heard(reply) for _ in range(count)]


def published(pair, *texts):
    for text in texts:
        for it in pair:
            it.ask("s", text)


def test_requests_take_turns(pair):
    begin(pair)
    found = []
    for it in pair:
        replies = [it.listen(), it.listen()]
        for reply in replies:
            it.request(NEXT, {"batch": 2, "expires": LONG}, reply)
        for number in range(4):
            it.ask("s", b"%d" % number)
        found.append([it.heard(reply)[1] for reply in replies * 2])

    assert found[1] == found[0] == [b"0", b"1", b"2", b"3"]


def test_what_does_not_wait_gets_what_there_is(pair):
    begin(pair, max_ack_pending=4)
    assert asked(pair, {"batch": 2, "no_wait": True}) == ["NATS/1.0 404 No Messages"]
    published(pair, b"0", b"1", b"2")
    assert asked(pair, {"batch": 5, "no_wait": True, "expires": LONG}, 4)[3:] == [
        "NATS/1.0 404 No Messages"
    ]
    asked(pair, {"batch": 1, "max_bytes": 1, "expires": LONG}, 0)
    published(pair, b"3")
    asked(pair, {"batch": 1, "max_bytes": 100_000, "expires": LONG}, 1)


def test_overflow_serves_while_much_is_pending(pair):
    begin(pair, priority_policy="overflow", priority_groups=["g"])
    asked(pair, {"batch": 1, "no_wait": True})
    asked(pair, {"batch": 1, "group": "h"})
    asked(pair, {"batch": 1, "group": "g", "id": "x"})
    published(pair, b"0", b"1", b"2")
    few = {"batch": 1, "group": "g", "no_wait": True}

    assert asked(pair, {**few, "min_pending": 4}) == ["NATS/1.0 404 No Messages"]
    assert asked(pair, {**few, "min_pending": 3}) == ["0"]
    assert asked(pair, {**few, "min_pending": 4, "min_ack_pending": 1}) == ["1"]
    assert asked(pair, {**few, "min_ack_pending": 3}) == ["NATS/1.0 404 No Messages"]


def test_one_client_is_pinned(pair):
    begin(pair, priority_policy="pinned_client", priority_groups=["g"], priority_timeout=LONG)
    published(pair, *(b"%d" % number for number in range(8)))
    ask = {"batch": 1, "group": "g"}
    pins = [_PIN.search(pulled(it, {**ask, "expires": LONG})[0][0])[1].decode() for it in pair]

    assert asked(pair, {**ask, "id": "other", "no_wait": True})[0].startswith("NATS/1.0 423")
    assert asked(pair, {**ask, "no_wait": True}) == ["NATS/1.0 404 No Messages"]
    for it, pin in zip(pair, pins, strict=True):
        state = it.api("CONSUMER.INFO.S.C")["priority_groups"][0]
        assert (state["group"], state["pinned_client_id"]) == ("g", pin)
        assert words_of(pulled(it, {**ask, "id": pin, "no_wait": True})[0]) == "1 pinned"
        assert "error" not in it.api("CONSUMER.UNPIN.S.C", {"group": "g"})
    assert asked(pair, {**ask, "no_wait": True}) == ["2 pinned"]
    for it, pin in zip(pair, pins, strict=True):
        answer = words_of(pulled(it, {**ask, "id": pin, "no_wait": True})[0])
        assert answer.startswith("NATS/1.0 423 Nats-Pin-Id mismatch")


def test_low_numbers_come_first(pair):
    begin(pair, priority_policy="prioritized", priority_groups=["g"])
    asked(pair, {"batch": 1, "group": "g", "priority": 10})
    found = []
    for it in pair:
        replies = {}
        for priority in (2, 0, 1):
            request = {"batch": 2, "group": "g", "priority": priority, "expires": LONG}
            replies[priority] = it.listen()
            it.request(NEXT, request, replies[priority])
        for number in range(6):
            it.ask("s", b"%d" % number)
        found.append([[it.heard(replies[at])[1] for _ in range(2)] for at in range(3)])

    assert found[1] == found[0] == [[b"0", b"1"], [b"2", b"3"], [b"4", b"5"]]
