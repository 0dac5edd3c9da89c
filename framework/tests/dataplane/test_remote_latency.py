from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from framework.dataplane import ResponderTimed

if TYPE_CHECKING:
    from framework.tests.dataplane.conftest import Peer, Talk

A, B = 1, 2
"""Accounts; clients of B answer."""


@pytest.fixture
def talk(talk: Talk) -> Talk:
    assert [A, B] == [talk.core.add_account(name) for name in (b"A", b"B")]
    talk.turn()
    return talk


def _responder(talk: Talk) -> Peer:
    peer = talk.client(account=B)
    peer.say(b"SUB svc 1\r\n")
    return peer


def _publish(subject: bytes) -> bytes:
    return b"PUB %b 2\r\nok\r\n" % subject


def _timed(talk: Talk) -> list[ResponderTimed]:
    return [event for event in talk.of(ResponderTimed) if isinstance(event, ResponderTimed)]


def test_the_first_answer_to_a_request_that_another_server_times_is_timed(talk: Talk) -> None:
    responder = _responder(talk)
    talk.core.set_client_info(responder.link, b'{"acc":"B"}', b'{"name":"serves"}')
    route = talk.route(accounts=[A, B])
    reply = b"_R_.abcdef.123456.NODE4567.T"
    route.say(b"RS+ B _R_.abcdef.>\r\nRMSG B svc %b 0\r\n\r\n" % reply)
    talk.turn(0.25)
    responder.say(_publish(reply) * 2)
    (timed,) = _timed(talk)

    assert (B, reply, b'{"name":"serves"}') == (timed.account, timed.reply, timed.responder)
    assert 250_000_000 == timed.ended_ns - timed.started_ns


def test_a_request_with_headers_is_timed_too(talk: Talk) -> None:
    responder, route = _responder(talk), talk.route(accounts=[A, B])
    block = b"NATS/1.0\r\n\r\n"
    reply = b"_R_.abcdef.123456.NODE4567.T"
    route.say(b"HMSG B svc %b %d %d\r\n%b\r\n" % (reply, len(block), len(block), block))
    responder.say(_publish(reply))

    assert [reply] == [timed.reply for timed in _timed(talk)]


@pytest.mark.parametrize(
    "reply",
    [
        b"_R_.abcdef.123456",
        b"_R_.abcdef.123456.NODE4567.S",
        b"_R_.abcdef.123456.NODE456.T",
        b"_R_.NODE4567.T",
        b"_INBOX.abcdef.NODE4567.T",
        b"_R_.%b.NODE4567.T" % (b"x" * 128),
    ],
)
def test_answers_that_no_server_times_are_not_timed(talk: Talk, reply: bytes) -> None:
    responder, route = _responder(talk), talk.route(accounts=[A, B])
    route.say(b"RMSG B svc %b 0\r\n\r\n" % reply)
    responder.say(_publish(reply))

    assert [] == _timed(talk)


def test_who_was_not_asked_is_not_timed(talk: Talk) -> None:
    reply = b"_R_.abcdef.123456.NODE4567.T"
    responder, route = _responder(talk), talk.route(accounts=[A, B])
    elsewhere = talk.client(account=A)
    route.say(b"RMSG B nobody %b 0\r\n\r\n" % reply)
    responder.say(_publish(reply))
    route.say(b"RMSG B svc %b 0\r\n\r\n" % reply)
    elsewhere.say(_publish(reply))

    assert [] == _timed(talk)


def test_of_requests_that_are_not_answered_the_oldest_are_forgotten(talk: Talk) -> None:
    responder, route = _responder(talk), talk.route(accounts=[A, B])
    for start in range(0, 16_385, 4_096):
        numbers = range(start, min(start + 4_096, 16_385))
        route.say(b"".join(b"RMSG B svc _R_.a.%d.NODE4567.T 0\r\n\r\n" % at for at in numbers))
    responder.say(b"".join(_publish(b"_R_.a.%d.NODE4567.T" % at) for at in (0, 1, 16_384)))

    assert [b"_R_.a.1.NODE4567.T", b"_R_.a.16384.NODE4567.T"] == [it.reply for it in _timed(talk)]


def test_requests_that_are_not_answered_in_time_are_forgotten(talk: Talk) -> None:
    responder, route = _responder(talk), talk.route(accounts=[A, B])
    route.say(b"RMSG B svc _R_.a.1.NODE4567.T 0\r\n\r\n")
    responder.heard()
    talk.turn(120.0)
    route.say(b"RMSG B svc _R_.a.2.NODE4567.T 0\r\n\r\n")
    responder.say(_publish(b"_R_.a.1.NODE4567.T") + _publish(b"_R_.a.2.NODE4567.T"))

    assert [b"_R_.a.2.NODE4567.T"] == [timed.reply for timed in _timed(talk)]
