"""What differs from listener to listener: pings, and what must be said before anything else."""

from __future__ import annotations

import pytest

from framework.dataplane import Closed, Greeting, LinkKind, PlaneLimits
from framework.tests.dataplane.conftest import Talk
from framework.wire.closed_state import ClosedState

LISTENER = 17
LIMITS = PlaneLimits(ping_interval_s=100, auth_timeout_s=50)
CONNECT = b'CONNECT {"verbose":false}\r\n'
VIOLATION = b"-ERR 'Authorization Violation'\r\n"


def pings_of(talk: Talk, seconds: int, *peers: object) -> list[int]:
    said = [b""] * len(peers)
    for _ in range(seconds):
        talk.turn(1)
        for at, peer in enumerate(peers):
            said[at] += peer.heard()
            peer.say(b"PONG\r\n")
    return [each.count(b"PING") for each in said]


def test_clients_of_a_listener_are_pinged_as_often_as_it_says() -> None:
    talk = Talk(PlaneLimits(ping_interval_s=1_000))
    own, other = talk.stranger(LISTENER), talk.stranger()
    for peer in (own, other):
        peer.say(CONNECT + b"PING\r\n")
    pings_of(talk, 3, own, other)
    talk.core.set_link_times(LISTENER, ping_interval_s=0.5)

    often, seldom = pings_of(talk, 20, own, other)
    assert often >= 9
    assert seldom <= 1
    talk.core.set_link_times(LISTENER)
    talk.core.set_link_times(LinkKind.CLIENT, ping_interval_s=0.5)
    assert min(pings_of(talk, 20, own, other)) >= 9


@pytest.mark.parametrize(("required", "said"), [(True, VIOLATION), (False, b"PONG\r\n")])
def test_a_listener_asks_for_a_login_or_not(*, required: bool, said: bytes) -> None:
    talk = Talk(PlaneLimits(auth_required=not required))
    talk.core.set_login_terms(LISTENER, required=required, timeout_s=1.0)
    talk.turn()
    own, other = talk.stranger(LISTENER), talk.stranger()
    for peer in (own, other):
        peer.say(b"PING\r\n")

    heard = own.heard(), other.heard()
    assert heard == (said, b"PONG\r\n" if required else VIOLATION)


def test_who_begins_without_a_login_is_asked_about_where_anybody_gets_in() -> None:
    talk = Talk(PlaneLimits(auth_required=True))
    talk.core.set_login_terms(LISTENER, required=True, lets_anybody_in=True, timeout_s=1.0)
    talk.turn()
    own = talk.stranger(LISTENER)
    own.say(b"PING\r\n")

    heard = own.heard()
    assert b"PONG\r\n" == heard
    assert [own.link] == [event.link for event in talk.of(Greeting)]


def test_a_listener_has_a_time_for_the_login_of_its_own() -> None:
    talk = Talk(PlaneLimits(auth_required=True, auth_timeout_s=50))
    talk.core.set_login_terms(LISTENER, required=True, timeout_s=2.0)
    own, _ = talk.stranger(LISTENER), talk.stranger()
    for _ in range(4):
        talk.turn(1)

    (closed,) = talk.of(Closed)
    assert (closed.link, closed.reason) == (own.link, ClosedState.AUTHENTICATION_TIMEOUT)


def test_what_can_t_be_is_refused() -> None:
    talk = Talk(LIMITS)
    for listener, timeout_s in ((-1, 1.0), (1_000, 1.0), (LISTENER, 0.0)):
        with pytest.raises(ValueError, match=r"no listener|above 0"):
            talk.core.set_login_terms(listener, required=True, timeout_s=timeout_s)
