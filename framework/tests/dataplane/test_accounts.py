"""Many accounts: found, carried by routes whenever they come, removed and brought back."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from framework.dataplane import (
    Closed,
    Confirmed,
    Delivered,
    Greeting,
    LinkKind,
    Opened,
    Overflow,
    PlaneLimits,
)
from framework.tests.dataplane.conftest import Peer, Talk
from framework.tests.dataplane.watched import CURRENT

ACCOUNT_BYTES_MAX = 6_144
"""Of an account that nobody uses; one that is used may take 20 KiB."""


def _resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _client_in(talk: Talk, account: int) -> Peer:
    """Return a client that has logged in to an account."""
    peer = talk.stranger()
    peer.heard()
    talk.core.feed(peer.link, b"CONNECT {}\r\n", talk.now_ns)
    talk.core.resume_client(peer.link, account=account, **CURRENT)
    talk.core.turn(talk.now_ns)
    talk.core.take_events()
    return peer


def test_an_account_that_nobody_uses_costs_little(talk: Talk) -> None:
    before = _resident_bytes()
    for number in range(10_000):
        talk.core.add_account(b"ACCOUNT-%d" % number)
    talk.turn()

    assert ACCOUNT_BYTES_MAX > (_resident_bytes() - before) / 10_000


def test_accounts_are_found_by_name_however_many_there_are(talk: Talk) -> None:
    indexes = [talk.core.add_account(b"%d" % name) for name in range(50_000)]
    again = [talk.core.add_account(b"%d" % name) for name in range(50_000)]

    assert indexes == again == list(range(1, 50_001))


def test_a_route_carries_every_account_also_those_that_come_later(talk: Talk) -> None:
    early = talk.core.add_account(b"EARLY")
    talk.turn()
    subscriber = _client_in(talk, early)
    subscriber.say(b"SUB a 1\r\n")
    route = talk.route()
    first = route.heard()
    late = talk.core.add_account(b"LATE")
    talk.turn()
    other = _client_in(talk, late)
    other.say(b"SUB b 1\r\n")
    second = route.heard()
    route.say(b"RS+ LATE c\r\n")
    other.say(b"PUB c 1\r\nx\r\n")
    subscriber.say(b"PUB c 1\r\ny\r\n")

    assert b"RS+ EARLY a\r\n" == first[-13:]
    assert b"RS+ LATE b\r\n" == second
    assert b"RMSG LATE c 1\r\nx\r\n" == route.heard()


def test_a_route_that_carries_every_account_leaves_them_all_when_it_ends(talk: Talk) -> None:
    index = talk.core.add_account(b"A")
    gone, staying = talk.route(), talk.route()
    staying.heard()
    talk.core.hang_up(gone.link)
    talk.turn()
    later = talk.core.add_account(b"B")
    talk.turn()
    for account in (index, later):
        _client_in(talk, account).say(b"SUB a 1\r\n")

    assert b"RS+ A a\r\nRS+ B a\r\n" == staying.heard()


def test_messages_of_an_account_that_is_not_ours_go_nowhere(talk: Talk) -> None:
    client, route = talk.client(), talk.route()
    client.say(b"SUB > 1\r\n")
    route.say(b"RS+ X a\r\nRMSG X a 1\r\nx\r\nRS- X a\r\nRS- X b\r\nPING\r\n")

    assert b"" == client.heard()
    assert b"PONG\r\n" in route.heard()
    assert [] == talk.of(Closed)


def test_what_a_route_wants_in_an_account_is_remembered_until_the_account_is_ours(
    talk: Talk,
) -> None:
    route = talk.route()
    route.say(b"RS+ X a\r\nRS+ X b\r\nRS- X b\r\n")
    index = talk.core.add_account(b"X")
    talk.turn()
    client = _client_in(talk, index)
    route.heard()
    client.say(b"PUB a 1\r\nx\r\nPUB b 1\r\ny\r\n")

    assert b"RMSG X a 1\r\nx\r\n" == route.heard()


def test_what_a_route_wanted_in_accounts_that_are_not_ours_ends_with_it(talk: Talk) -> None:
    gone, route = talk.route(), talk.route()
    gone.say(b"RS+ X a\r\nRS+ Y a\r\n")
    route.say(b"RS+ X b\r\n")
    talk.core.hang_up(gone.link)
    talk.turn()
    clients = [_client_in(talk, talk.core.add_account(name)) for name in (b"X", b"Y")]
    route.heard()
    for client in clients:
        client.say(b"PUB a 1\r\nx\r\nPUB b 1\r\ny\r\n")

    assert b"RMSG X b 1\r\ny\r\n" == route.heard()


def test_an_account_may_become_ours_in_the_turn_in_which_routes_forget_it(talk: Talk) -> None:
    route = talk.route()
    talk.core.feed(route.link, b"RS+ X a\r\nRS+ Y a\r\nRS- X a\r\nRS- Y a\r\nRS+ Z a\r\n", 0)
    indexes = [talk.core.add_account(name) for name in (b"X", b"Y", b"V")]
    talk.turn()
    clients = [_client_in(talk, index) for index in indexes]
    for client in clients:
        client.say(b"SUB a 1\r\nPUB a 1\r\nx\r\n")

    assert [b"MSG a 1 1\r\nx\r\n"] * 3 == [client.heard() for client in clients]
    assert b"RS+ X a\r\nRS+ Y a\r\nRS+ V a\r\n" == route.heard()
    assert 5 == talk.core.sublist_counters().inserts


def test_the_subscriptions_of_accounts_that_are_not_ours_are_not_shown(talk: Talk) -> None:
    route = talk.route()
    route.say(b"RS+ X a\r\nRS+ $G b\r\n")

    assert [b"b"] == [row.subject for row in talk.subscriptions()]


def test_an_account_that_is_removed_serves_nobody_any_more(talk: Talk) -> None:
    index = talk.core.add_account(b"A")
    talk.turn()
    route, client = talk.route(), _client_in(talk, index)
    sink = talk.core.subscribe_sink(index, b"s", overflow=Overflow.DROP)
    client.say(b"SUB a 1\r\nSUB b.* q 2\r\nPUB a 1\r\nx\r\nPUB a 1\r\nx\r\n")
    route.heard()
    client.heard()
    talk.core.remove_account(index)
    talk.turn()
    told = route.heard()
    client.say(b"PUB a 1\r\ny\r\nPUB s 1\r\ny\r\n")
    route.say(b"RMSG A a 1\r\nz\r\n")
    talk.core.unsubscribe_sink(sink)
    talk.turn()

    assert {b"RS- A s", b"RS- A a", b"RS- A b.* q"} == set(told.split(b"\r\n")) - {b""}
    assert b"" == client.heard() == route.heard()
    assert [] == talk.of(Delivered)


def test_an_account_that_comes_back_has_its_number_and_what_routes_want_of_it(talk: Talk) -> None:
    index = talk.core.add_account(b"A")
    talk.turn()
    route = talk.route()
    route.say(b"RS+ A far\r\n")
    talk.core.remove_account(index)
    talk.turn()
    again = talk.core.add_account(b"A")
    talk.turn()
    client = _client_in(talk, again)
    client.say(b"SUB near 1\r\nPUB far 1\r\nx\r\n")

    assert index == again
    assert b"RS+ A near\r\nRMSG A far 1\r\nx\r\n" == route.heard()


def test_an_account_is_removed_with_what_a_sink_and_the_process_have_there(talk: Talk) -> None:
    index = talk.core.add_account(b"A")
    talk.core.subscribe_sink(index, b"s")
    talk.core.publish(index, [(b"s", b"", b"", b"x")] * 3)
    talk.core.remove_account(index)
    talk.core.publish(index, [(b"s", b"", b"", b"x")] * 3)
    talk.turn()

    assert [3] == [len(event.batch) for event in talk.of(Delivered)]


@pytest.mark.parametrize("index", [0, 1, -1])
def test_only_accounts_that_were_added_are_removed(talk: Talk, index: int) -> None:
    with pytest.raises(ValueError, match="no account"):
        talk.core.remove_account(index)


def test_commands_are_confirmed_when_they_are_in_force(talk: Talk) -> None:
    talk.core.confirm(7)
    talk.core.confirm(8)
    talk.turn()

    assert [Confirmed(7), Confirmed(8)] == talk.of(Confirmed)


def test_an_accepted_client_is_given_a_nonce_of_its_own(talk: Talk) -> None:
    talk.core.set_info(LinkKind.CLIENT, b'{"a":1}')
    talk.turn()
    plain = talk.stranger().heard()
    talk.core.set_nonces(LinkKind.CLIENT, on=True)
    talk.turn()
    heard = [talk.stranger().heard() for _ in range(3)]
    nonces = [event.nonce for event in talk.of(Opened)]

    assert b"nonce" not in plain
    assert b"" == nonces[0]
    assert {15} == {len(nonce) for nonce in nonces[1:]}
    assert 3 == len(set(nonces[1:]))
    assert [b',"nonce":"%b"} \r\n' % nonce for nonce in nonces[1:]] == [
        line[line.index(b',"nonce"') :] for line in heard
    ]


def test_one_seed_gives_one_run_of_nonces() -> None:
    runs = []
    for seed in (1, 1, 2):
        talk = Talk(seed=seed)
        talk.core.set_nonces(LinkKind.CLIENT, on=True)
        talk.turn()
        talk.stranger()
        talk.turn()
        runs.append([event.nonce for event in talk.of(Opened)])

    assert runs[0] == runs[1] != runs[2]


def test_a_nonce_is_not_said_again_behind_the_login(talk: Talk) -> None:
    talk.core.set_info(LinkKind.CLIENT, b'{"a":1}')
    talk.core.set_nonces(LinkKind.CLIENT, on=True)
    talk.turn()
    client = talk.client(protocol=1)
    client.ask(b"PING\r\n")
    talk.core.set_info(LinkKind.CLIENT, b'{"a":2}', announce=True)
    talk.turn()
    heard = client.heard()

    assert b'INFO {"a":2' == heard[:11]
    assert b"nonce" not in heard


@pytest.mark.parametrize("line", [b"PING\r\n", b"SUB a 1\r\n", b"PUB a 1\r\nx\r\n", b"p"])
def test_a_client_that_begins_without_connect_is_asked_about(line: bytes) -> None:
    talk = Talk(PlaneLimits(auth_required=True, lets_anybody_in=True))
    client = talk.stranger()
    talk.core.feed(client.link, line, 1)
    talk.core.turn(1)
    (_, greeting) = talk.core.take_events()

    assert Greeting(client.link, LinkKind.CLIENT, "CONNECT", b"{}", parked=True) == greeting


def test_a_client_that_was_let_in_without_connect_goes_on_where_it_began() -> None:
    talk = Talk(PlaneLimits(auth_required=True, lets_anybody_in=True))
    client = talk.stranger()
    heard = client.ask(b"SUB a 1\r\nPUB a 1\r\nx\r\nPING\r\n")

    assert b"+OK\r\n+OK\r\nMSG a 1 1\r\nx\r\nPONG\r\n" == heard
    assert b"+OK\r\nPONG\r\n" == client.ask(b"CONNECT {}\r\nPING\r\n")


def test_a_client_that_must_log_in_is_refused_without_connect() -> None:
    talk = Talk(PlaneLimits(auth_required=True))
    client = talk.stranger()

    assert b"-ERR 'Authorization Violation'\r\n" == client.ask(b"PING\r\n")
