"""PINGs and write deadlines, which differ by the kind of link."""

from __future__ import annotations

import select
import socket
from typing import TYPE_CHECKING

import pytest

from framework.dataplane import (
    Closed,
    LinkKind,
    Listed,
    Opened,
    Plane,
    PlaneLimits,
    PongReceived,
    link_rows,
)
from framework.tests.dataplane.conftest import Talk
from framework.tests.sockets import WAIT_S
from framework.wire.closed_state import ClosedState

if TYPE_CHECKING:
    from collections.abc import Iterator

SECOND_NS = 1_000_000_000


def test_routes_have_times_of_their_own() -> None:
    talk = Talk(PlaneLimits(ping_interval_s=100, ping_max=9, write_deadline_s=1000))
    client, route = talk.client(), talk.route()
    talk.core.set_link_times(LinkKind.ROUTE, ping_interval_s=5, ping_max=1)
    route.say(b"PONG\r\n")
    client.heard()
    said = []
    for _ in range(10):
        talk.turn(1)
        said.append((client.heard(), route.heard()))

    assert b"PING\r\n-ERR 'Stale Connection'\r\n" == b"".join(r for _, r in said)
    assert b"PING\r\n" == b"".join(c for c, _ in said)
    assert [(route.link, ClosedState.STALE_CONNECTION)] == [
        (event.link, event.reason) for event in talk.of(Closed)
    ]


def test_routes_are_pinged_every_30_seconds_at_least() -> None:
    talk = Talk(PlaneLimits(ping_interval_s=10, ping_max=2))
    route = talk.route()
    talk.core.set_link_times(LinkKind.ROUTE, ping_interval_s=600)
    pings = 0
    for _ in range(100):
        route.say(b"PONG\r\n")
        talk.turn(1)
        pings += route.heard().count(b"PING")

    assert 4 == pings


def test_a_pong_answers_the_oldest_ping() -> None:
    talk = Talk(PlaneLimits(ping_interval_s=1, ping_max=9))
    route = talk.route()
    talk.turn(1.5)
    second = route.heard()
    for _ in range(3):
        talk.now_ns += SECOND_NS // 4
        route.say(b"PONG\r\n")
    talk.turn(2)
    route.heard()
    talk.now_ns += SECOND_NS // 8
    route.say(b"PONG\r\n")

    assert b"PING\r\n" == second
    assert [1.75, 1.75, 0.125] == [event.rtt_ns / SECOND_NS for event in talk.of(PongReceived)]


def test_a_new_interval_counts_from_now() -> None:
    talk = Talk(PlaneLimits(ping_interval_s=100))
    client = talk.client()
    client.say(b"PING\r\n")
    talk.turn(3)
    client.say(b"PONG\r\n")
    talk.core.set_link_times(LinkKind.CLIENT, ping_interval_s=2)
    talk.turn()
    client.heard()
    talk.turn(2.5)

    assert b"PING\r\n" == client.heard()


@pytest.mark.parametrize("closes", [True, False])
def test_a_deadline_of_a_kind_ends_who_takes_nothing(closes: bool) -> None:  # noqa: FBT001
    talk = Talk(PlaneLimits(write_deadline_s=1000, ping_interval_s=1000))
    client, route = talk.client(), talk.route()
    talk.core.set_link_times(LinkKind.ROUTE, write_deadline_s=2, closes_slow=closes)
    route.say(b"PONG\r\nRS+ $G a\r\n")
    talk.core.feed(client.link, b"PUB a 1\r\nx\r\n", talk.now_ns)
    talk.turn(1.9)
    before = talk.of(Closed)
    talk.turn(0.4)

    assert [] == before
    assert [ClosedState.SLOW_CONSUMER_WRITE_DEADLINE] == [event.reason for event in talk.of(Closed)]
    assert (0, 1) == (
        talk.core.totals().kinds[LinkKind.CLIENT].slow,
        talk.core.totals().kinds[LinkKind.ROUTE].slow,
    )


@pytest.mark.parametrize(
    "times", [{"ping_interval_s": 0}, {"ping_max": 0}, {"write_deadline_s": -1.0}]
)
def test_times_that_make_no_sense_are_refused(talk: Talk, times: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="above 0"):
        talk.core.set_link_times(LinkKind.ROUTE, **times)


# ---- with sockets: who takes a little, and too little


class Slow:
    """A client that takes what it is sent in small pieces."""

    def __init__(self, plane: Plane) -> None:
        self.plane = plane
        self.events: list[object] = []
        self.far, near = socket.socketpair()
        plane.adopt(near, LinkKind.CLIENT, 1)
        self.link = self.wait(Opened).link
        self.far.sendall(b"SUB a 1\r\nPING\r\n")
        while not self.far.recv(100).endswith(b"PONG\r\n"):
            pass
        plane.publish(0, [(b"a", b"", b"", bytes(900_000))] * 60)

    def wait(self, kind: type) -> object:
        """Take a little again and again until an event of a kind has come."""
        while not (found := [event for event in self.events if isinstance(event, kind)]):
            self.sip()
        return found[0]

    def sip(self) -> None:
        """Take a little, and what has happened."""
        select.select([self.plane.event_fd], [], [], 0.02)
        self.events += self.plane.take_events()
        if hasattr(self, "link"):
            self.far.recv(100_000)


@pytest.fixture
def slow(request: pytest.FixtureRequest) -> Iterator[Slow]:
    """Return a client of a plane that has these times for it."""
    plane = Plane(PlaneLimits())
    plane.set_link_times(LinkKind.CLIENT, **request.param)
    plane.start()
    made = Slow(plane)
    yield made
    made.far.close()
    plane.stop(WAIT_S)


@pytest.mark.parametrize(
    "slow", [{"write_deadline_s": 0.5, "closes_slow": True}], indirect=True, ids=["close"]
)
def test_who_takes_too_little_is_closed_where_that_is_wanted(slow: Slow) -> None:
    assert ClosedState.SLOW_CONSUMER_WRITE_DEADLINE == slow.wait(Closed).reason


@pytest.mark.parametrize("slow", [{"write_deadline_s": 0.5}], indirect=True, ids=["retry"])
def test_who_takes_too_little_is_counted_and_goes_on_else(slow: Slow) -> None:
    while slow.plane.totals().kinds[LinkKind.CLIENT].slow == 0:
        slow.sip()
    slow.plane.open_listing(1, links=True)
    slow.plane.next_rows(1, 1)

    assert [slow.link] == [row.link for row in link_rows(slow.wait(Listed).data)]
