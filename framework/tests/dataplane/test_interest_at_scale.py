"""Much interest: what routes are told at one go, and what one message may name."""

from __future__ import annotations

from framework.dataplane import Closed, LinkKind, PlaneLimits
from framework.dataplane.permissions import Permissions, SubjectRules
from framework.tests.dataplane.conftest import Talk
from framework.wire.closed_state import ClosedState

SMALL = PlaneLimits(max_pending=20_000, fast_producer_stall=False)


def _subscribe(talk: Talk, count: int) -> int:
    client = talk.client()
    for number in range(count):
        talk.core.feed(client.link, b"SUB some.subject.%d %d\r\n" % (number, number), 0)
    return client.link


def test_a_snapshot_is_no_reason_to_cut_a_route_off() -> None:
    talk = Talk(SMALL)
    _subscribe(talk, 2_000)
    route = talk.route()
    talk.client().say(b"SUB one.more 1\r\n")
    told = route.heard()

    assert len(told) > SMALL.max_pending
    assert 2_001 == told.count(b"RS+ $G ")
    assert [] == talk.of(Closed)


def test_interest_that_ends_at_one_go_is_no_reason_either() -> None:
    talk = Talk(SMALL)
    client = _subscribe(talk, 2_000)
    route = talk.route()
    route.heard()
    talk.core.hang_up(client)
    talk.turn()

    assert 2_000 == route.heard().count(b"RS- $G ")
    assert [client] == [event.link for event in talk.of(Closed)]


def test_interest_that_rules_let_out_at_one_go_is_no_reason_either() -> None:
    talk = Talk(SMALL)
    _subscribe(talk, 2_000)
    route = talk.route(
        permissions=talk.core.add_permissions(Permissions(publish=SubjectRules(deny=(">",))))
    )
    before = route.heard()
    talk.core.set_peer_permissions(LinkKind.ROUTE, 0)
    talk.turn()
    talk.client().say(b"SUB one.more 1\r\n")

    assert b"" == before
    assert 2_001 == route.heard().count(b"RS+ $G ")
    assert [] == talk.of(Closed)


def test_a_server_that_asks_for_all_interest_gets_it_once_a_second() -> None:
    talk = Talk(SMALL)
    _subscribe(talk, 2_000)
    route = talk.route()
    told = []
    for seconds in (0, 0, 0.5, 0.5, 0.5, 0.5):
        for _ in range(5):
            talk.core.repeat_interest(route.link)
        talk.turn(seconds)
        told.append(talk.core.take_output(route.link).count(b"RS+"))

    assert [2_000, 0, 0, 2_000, 0, 2_000] == told
    assert 2_000 == route.last.count(b"RS+")


def test_who_does_not_read_all_interest_is_not_told_it_again() -> None:
    talk = Talk(SMALL)
    _subscribe(talk, 2_000)
    route = talk.route(registered=False)
    talk.core.register_peer(route.link)
    for _ in range(5):
        talk.core.repeat_interest(route.link)
        talk.turn(2)
    told = []
    for _ in range(2):
        told.append(talk.core.take_output(route.link).count(b"RS+"))
        talk.turn(1)

    assert [2_000, 2_000] == told


def test_a_route_that_took_its_snapshot_may_fall_no_further_behind_than_others() -> None:
    talk = Talk(SMALL)
    _subscribe(talk, 2_000)
    route = talk.route()
    route.say(b"RS+ $G a\r\n")
    route.heard()
    talk.client().say(b"PUB a 6000\r\n%b\r\n" % bytes(6000) * 5)

    assert [(route.link, ClosedState.SLOW_CONSUMER_PENDING_BYTES)] == [
        (event.link, event.reason) for event in talk.of(Closed)
    ]


def test_a_message_names_thousands_of_groups_and_another_server_takes_it() -> None:
    near, far = Talk(), Talk()
    names = [b"group.%d" % number for number in range(3_000)]
    there, west, east = far.client(), near.route(), far.route()
    west.say(b"".join(b"RS+ $G a %b 1\r\n" % name for name in names))
    there.say(b"".join(b"SUB a %b %b\r\n" % (name, name) for name in names))
    near.client().say(b"PUB a 1\r\nx\r\n")
    message = west.heard()
    east.say(message)

    assert 1 == message.count(b"RMSG")
    assert 3_000 == there.heard().count(b"MSG a group.")
    assert [] == far.of(Closed)


def test_no_message_names_more_groups_than_another_server_takes() -> None:
    near, far = Talk(), Talk()
    names = [b"%d." % number + b"x" * 90 for number in range(2_000)]
    west, east = near.route(), far.route()
    for name in names:
        west.say(b"RS+ $G a %b 1\r\n" % name)
    near.client().say(b"PUB a reply 1\r\nx\r\n")
    message = west.heard()
    east.say(message)

    assert 1_000 < message.count(b"x ") < 2_000
    assert near.core.totals().dropped == 2_000 - message.count(b"x ")
    assert [] == far.of(Closed)


def test_what_routes_said_of_an_account_outlasts_its_removal() -> None:
    talk = Talk()
    account = talk.core.add_account(b"A")
    client, route = talk.client(account=account), talk.route()
    client.say(b"SUB a 1\r\nSUB b q 2\r\n")
    route.say(b"RS+ A c\r\nRS+ A d q 2\r\n")
    route.heard()
    talk.core.remove_account(account)
    talk.turn()
    gone = sorted(route.heard().split(b"\r\n")[:-1])
    route.say(b"RS- A c\r\nRS+ A e\r\nRMSG A a 1\r\nx\r\n")
    assert account == talk.core.add_account(b"A")
    talk.turn()
    talk.client(account=account).say(b"PUB c 1\r\nx\r\nPUB d 1\r\nx\r\nPUB e 1\r\nx\r\n")

    assert [b"RS- A a", b"RS- A b q"] == gone
    assert b"RMSG A d | q 1\r\nx\r\nRMSG A e 1\r\nx\r\n" == route.heard()
