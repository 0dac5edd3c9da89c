"""No client holds up the others: what one turn does is bounded, whatever it is asked for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from framework.dataplane import Closed, Confirmed, Listed, PlaneLimits, link_rows
from framework.dataplane.permissions import Permissions, SubjectRules
from framework.dataplane.tables import AccountTables, StreamImportRow
from framework.wire.closed_state import ClosedState

if TYPE_CHECKING:
    from framework.tests.dataplane.conftest import Peer, Talk

MANY = 50_000
TURN_WORK_MAX = 40_000
"""Commands, links with much to do, ends of links, and what a quiet link may do at most."""


class Turns:
    """Turns the core step by step, and remembers the most work that one turn did."""

    def __init__(self, talk: Talk) -> None:
        self.core = talk.core
        self.talk = talk
        self.count = 0
        self.most = 0

    def once(self) -> None:
        before = self.core.work
        self.core.turn(self.talk.now_ns)
        self.talk.events += self.core.take_events()
        self.count += 1
        self.most = max(self.most, self.core.work - before)

    def rest(self) -> None:
        """Turn until nothing is left to do."""
        self.once()
        while self.core.is_busy:
            self.once()


@pytest.fixture
def turns(talk: Talk) -> Turns:
    return Turns(talk)


def feed(peer: Peer, data: bytes) -> None:
    """Let a peer have sent bytes, of which one slice is handled."""
    peer.talk.core.feed(peer.link, data, peer.talk.now_ns)


def subscribe(peer: Peer, line: bytes, count: int = MANY) -> None:
    """Subscribe many times; `%d` in the line is the number."""
    peer.say(b"".join(line.replace(b"%d", b"%d" % it) for it in range(count)))
    peer.heard()


def heard(peer: Peer) -> list[bytes]:
    """Return the payloads that a peer has been sent, in order."""
    return re.findall(rb"MSG [^\r]*\r\n([^\r]*)\r\n", peer.talk.core.take_output(peer.link))


def sids(output: bytes) -> list[bytes]:
    return re.findall(rb"MSG \S+ (\S+) ", output)


@pytest.mark.parametrize("line", [b"SUB x %d\r\n", b"SUB * %d\r\n", b"SUB x q%d %d\r\n"])
def test_messages_that_nobody_is_sent_leave_room_for_others(
    talk: Talk, turns: Turns, line: bytes
) -> None:
    deaf, other = talk.client(echo=False), talk.client()
    subscribe(deaf, line)
    other.say(b"SUB own 1\r\n")
    feed(deaf, b"PUB x 0\r\n\r\n" * 100)
    for number in range(20):
        feed(other, b"PUB own 2\r\n%02d\r\n" % number)
        turns.once()

        assert [b"%02d" % number] == heard(other)
    assert talk.core.is_busy
    assert turns.most < TURN_WORK_MAX


@pytest.mark.parametrize("line", [b"SUB x %d\r\n", b"SUB > 1%d\r\nSUB x 2%d\r\n"])
def test_a_message_reaches_all_in_several_turns_once_and_in_order(
    talk: Talk, turns: Turns, line: bytes
) -> None:
    wide, publisher = talk.client(), talk.client()
    subscribe(wide, line, 20_000 // line.count(b"SUB"))
    feed(publisher, b"PUB x 1\r\na\r\nPUB x 1\r\nb\r\nPING\r\n")

    assert b"PONG" not in talk.core.take_output(publisher.link)
    turns.rest()
    got = heard(wide)

    assert [b"a"] * 20_000 + [b"b"] * 20_000 == got
    assert b"PONG\r\n" == talk.core.take_output(publisher.link)
    assert turns.count > 4
    assert turns.most < TURN_WORK_MAX


def test_each_queue_group_gets_a_message_once_in_several_turns(talk: Talk, turns: Turns) -> None:
    members = [talk.client() for _ in range(2)]
    for member in members:
        subscribe(member, b"SUB x q%d %d\r\n", 20_000)
    publisher = talk.client()
    feed(publisher, b"PUB x 1\r\na\r\n")
    turns.rest()
    groups = [sid for member in members for sid in sids(talk.core.take_output(member.link))]

    assert 20_000 == len(groups) == len(set(groups))
    assert turns.count > 2


@pytest.mark.parametrize("line", [b"SUB x q%d %d\r\n", b"SUB * q%d %d\r\n"])
def test_groups_without_another_member_cost_no_search_among_all_groups(
    talk: Talk, turns: Turns, line: bytes
) -> None:
    deaf = talk.client(echo=False)
    subscribe(deaf, line)
    for _ in range(3):
        before = talk.core.work
        feed(deaf, b"PUB x 0\r\n\r\n")

        assert talk.core.work - before < TURN_WORK_MAX
        turns.rest()
        assert talk.core.work - before < 4 * MANY
    assert turns.most < TURN_WORK_MAX


def test_a_group_whose_chosen_member_leaves_is_served_by_another(talk: Talk, turns: Turns) -> None:
    leaving, staying, publisher = talk.client(), talk.client(), talk.client()
    for member in (leaving, staying):
        subscribe(member, b"SUB x q%d %d\r\n", 12_000)
    feed(publisher, b"PUB x 1\r\na\r\n")
    turns.once()
    talk.core.hang_up(leaving.link)
    before = set(sids(talk.core.take_output(leaving.link)))
    turns.rest()
    after = sids(talk.core.take_output(staying.link))

    assert before
    assert not before & set(after)
    assert 12_000 == len(before) + len(after)


def test_who_unsubscribes_or_leaves_under_way_gets_no_more(talk: Talk, turns: Turns) -> None:
    wide, leaving, publisher = talk.client(), talk.client(), talk.client()
    subscribe(wide, b"SUB x %d\r\n", 20_000)
    subscribe(leaving, b"SUB x %d\r\n", 20_000)
    feed(publisher, b"PUB x 1\r\na\r\n")
    first = len(heard(wide))
    feed(wide, b"UNSUB 19999\r\nSUB x late\r\n")
    talk.core.hang_up(leaving.link)
    turns.rest()

    assert 0 < first < 20_000
    assert 19_999 == first + len(heard(wide))
    assert [leaving.link] == [event.link for event in talk.of(Closed)]


def test_the_message_of_a_publisher_that_leaves_still_arrives(talk: Talk, turns: Turns) -> None:
    wide, publisher = talk.client(), talk.client()
    subscribe(wide, b"SUB x %d\r\n", 30_000)
    feed(publisher, b"PUB x 1\r\na\r\n")
    talk.core.hang_up(publisher.link)
    turns.rest()

    assert 30_000 == len(heard(wide))
    assert [publisher.link] == [event.link for event in talk.of(Closed)]
    assert turns.most < TURN_WORK_MAX


def test_subscriptions_that_have_had_enough_under_way_end_once(talk: Talk, turns: Turns) -> None:
    wide, publisher = talk.client(), talk.client()
    subscribe(wide, b"SUB x %d\r\nUNSUB %d 1\r\n", 20_000)
    feed(publisher, b"PUB x 1\r\na\r\nPUB x 1\r\nb\r\n")
    turns.rest()

    assert [b"a"] * 20_000 == heard(wide)
    assert 0 == talk.core.totals().subscriptions


def test_what_this_process_publishes_stays_in_order_and_holds_up_nobody(
    talk: Talk, turns: Turns
) -> None:
    wide, other = talk.client(), talk.client()
    subscribe(wide, b"SUB x %d\r\n", 20_000)
    other.say(b"SUB own 1\r\n")
    talk.core.publish(0, [(b"x", b"", b"", b"%d" % number) for number in range(3)])
    talk.core.publish(0, [(b"own", b"", b"", b"%d" % number) for number in range(30_000)])
    talk.core.confirm(7)
    feed(other, b"PING\r\n")
    turns.once()

    assert b"PONG\r\n" in talk.core.take_output(other.link)
    assert not talk.of(Confirmed)
    turns.rest()
    assert [b"0"] * 20_000 + [b"1"] * 20_000 + [b"2"] * 20_000 == heard(wide)
    assert talk.of(Confirmed)
    assert turns.most < TURN_WORK_MAX


def test_commands_without_end_leave_room_for_others(talk: Talk, turns: Turns) -> None:
    other = talk.client()
    for token in range(MANY):
        talk.core.confirm(token)
    feed(other, b"PING\r\n")
    turns.once()

    assert b"PONG\r\n" == talk.core.take_output(other.link)
    turns.rest()
    assert list(range(MANY)) == [event.token for event in talk.of(Confirmed)]
    assert turns.most < TURN_WORK_MAX


def test_a_client_with_many_subscriptions_ends_by_and_by(talk: Talk, turns: Turns) -> None:
    route, leaving, other = talk.route(), talk.client(), talk.client()
    subscribe(leaving, b"SUB x.%d %d\r\n")
    route.heard()
    small = talk.client()
    other.say(b"SUB own 1\r\n")
    talk.core.hang_up(leaving.link)
    talk.core.hang_up(small.link)
    told = 0
    for number in range(10):
        feed(other, b"PUB own 2\r\n%02d\r\n" % number)
        turns.once()
        told += talk.core.take_output(route.link).count(b"RS- $G x.")

        assert [b"%02d" % number] == heard(other)
    assert [small.link] == [event.link for event in talk.of(Closed)]
    turns.rest()
    assert MANY == told + talk.core.take_output(route.link).count(b"RS- $G x.")
    assert [small.link, leaving.link] == [event.link for event in talk.of(Closed)]
    assert turns.most < TURN_WORK_MAX


def test_many_links_that_are_closed_at_once_end_by_and_by(talk: Talk, turns: Turns) -> None:
    crowd = [talk.client() for _ in range(3_000)]
    for peer in crowd:
        talk.core.close(peer.link, ClosedState.KICKED)
    turns.rest()

    assert {peer.link for peer in crowd} == {event.link for event in talk.of(Closed)}
    assert turns.count > 10
    assert turns.most < TURN_WORK_MAX


def test_unsubs_in_one_write_end_by_and_by(talk: Talk, turns: Turns) -> None:
    peer, other = talk.client(), talk.client()
    subscribe(peer, b"SUB x.%d %d\r\n", 20_000)
    other.say(b"SUB own 1\r\n")
    feed(peer, b"".join(b"UNSUB %d\r\n" % it for it in range(20_000)))
    feed(other, b"PUB own 2\r\nhi\r\n")
    turns.rest()

    assert [b"hi"] == heard(other)
    assert 1 == talk.core.totals().subscriptions
    assert turns.count > 10
    assert turns.most < TURN_WORK_MAX


def test_changed_permissions_are_confirmed_when_all_subscriptions_were_checked(
    talk: Talk, turns: Turns
) -> None:
    peer, publisher = talk.client(), talk.client()
    subscribe(peer, b"SUB a.%d a%d\r\nSUB b.%d b%d\r\n", 10_000)
    number = talk.core.add_permissions(Permissions(subscribe=SubjectRules(allow=("a.*",))))
    talk.core.set_client(peer.link, permissions=number)
    talk.core.confirm(1)
    turns.once()

    assert not talk.of(Confirmed)
    turns.rest()
    assert talk.of(Confirmed)
    assert 10_000 == talk.core.totals().subscriptions
    assert 10_000 == talk.core.take_output(peer.link).count(b"Permissions Violation")
    publisher.say(b"PUB a.5 1\r\na\r\nPUB b.5 1\r\nb\r\n")
    assert [b"a"] == heard(peer)
    assert turns.most < TURN_WORK_MAX


def test_thousands_of_groups_named_by_a_route_are_sought_by_name(talk: Talk, turns: Turns) -> None:
    peer, route = talk.client(), talk.route()
    subscribe(peer, b"SUB x %d %d\r\n", 20_000)
    names = b" ".join(b"%d" % it for it in range(20_000))
    feed(route, b"RMSG $G x | " + names + b" 1\r\na\r\n")
    turns.rest()

    got = sids(talk.core.take_output(peer.link))
    assert 20_000 == len(got) == len(set(got))
    assert turns.most < TURN_WORK_MAX


def test_publishers_share_the_turns(talk: Talk, turns: Turns) -> None:
    wide = talk.client()
    subscribe(wide, b"SUB x %d\r\n", 20_000)
    crowd = [talk.client(echo=False) for _ in range(10)]
    for number, peer in enumerate(crowd):
        feed(peer, b"PUB x 1\r\n%d\r\n" % number * 3)
    for _ in range(2):
        turns.once()
    begun = set(heard(wide))
    turns.rest()

    assert {b"%d" % number for number in range(10)} == begun
    assert 10 * 3 * 20_000 == talk.core.totals().out_msgs


def test_a_reload_of_many_accounts_looks_at_the_clients_of_each_alone(
    talk: Talk, turns: Turns
) -> None:
    """It looked at all links for each account: 10,000 of both held up others for 40 ms."""
    count = 1_500
    exporter = talk.core.add_account(b"EXPORTER")
    accounts = [talk.core.add_account(b"A%d" % it) for it in range(count)]
    clients = [talk.client(account=it) for it in accounts]
    for client in clients:
        client.say(b"SUB a.b 1\r\n")
    publisher = talk.client(account=exporter)
    streams = AccountTables(
        stream_imports=(StreamImportRow(account=exporter, subject="a.*", to="a.*"),)
    )
    for tables, receivers in ((streams, count), (AccountTables(), 0), (streams, count)):
        for account in accounts:
            talk.core.set_account_tables(account, tables)
        before = turns.core.work
        turns.rest()

        assert turns.core.work - before < 40 * count
        publisher.say(b"PUB a.b 2\r\nhi\r\n")
        heard_it = sum(b"MSG a.b 1 2" in talk.core.take_output(it.link) for it in clients)
        assert receivers == heard_it
    assert turns.most < TURN_WORK_MAX
    assert turns.count > 3


def test_logins_that_are_late_all_at_once_end_some_at_a_time(turns: Turns) -> None:
    """As Python hears of them: who lets others in would else be busy with these."""
    talk = turns.talk
    talk.core.set_limits(PlaneLimits(auth_required=True, auth_timeout_s=2.0))
    silent = [talk.stranger().link for _ in range(2_000)]
    patient = talk.client()
    talk.turn()
    talk.now_ns += 3_000_000_000
    talk.core.turn(talk.now_ns)

    assert talk.core.is_busy
    while talk.core.is_busy:
        ended = [it for it in talk.core.take_events() if isinstance(it, Closed)]
        talk.events += ended

        assert len(ended) <= 192
        turns.core.turn(talk.now_ns)
    talk.turn()

    assert set(silent) == {it.link for it in talk.of(Closed)}
    assert {ClosedState.AUTHENTICATION_TIMEOUT} == {it.reason for it in talk.of(Closed)}
    assert b"PONG\r\n" == patient.ask(b"PING\r\n")


def test_logins_that_python_does_not_hear_of_wait(turns: Turns) -> None:
    talk = turns.talk
    talk.core.set_limits(PlaneLimits(auth_required=True, auth_timeout_s=2.0))
    for _ in range(500):
        talk.stranger()
    talk.turn()
    talk.now_ns += 3_000_000_000
    for _ in range(50):
        talk.core.turn(talk.now_ns)
    ended = [it for it in talk.core.take_events() if isinstance(it, Closed)]

    assert 0 < len(ended) < 250
    talk.turn()
    assert 500 == len(ended) + len(talk.of(Closed))


def test_a_client_that_ends_is_listed_until_its_end_is_told(talk: Talk, turns: Turns) -> None:
    leaving = talk.client()
    subscribe(leaving, b"SUB x %d\r\n")
    talk.core.close(leaving.link, ClosedState.CLIENT_CLOSED)
    talk.core.open_listing(1, links=True)
    talk.core.next_rows(1, 1)
    turns.once()

    assert talk.core.is_busy
    (listed,) = talk.of(Listed)
    assert [leaving.link] == [row.link for row in link_rows(listed.data)]
    assert not [it for it in talk.of(Closed) if it.link == leaving.link]
    turns.rest()
    assert leaving.link in {it.link for it in talk.of(Closed)}
    assert not talk.links()
