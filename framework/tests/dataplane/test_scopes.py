"""Which scope hears which, and which interest is told to whom: every pair of the matrix."""

from __future__ import annotations

from itertools import product

import pytest

from framework.dataplane import LinkKind
from framework.dataplane.scopes import SCOPES, Scope
from framework.tests.dataplane.conftest import Peer, Talk
from framework.tests.dataplane.test_dialects import KINDS

PLACES = {
    Scope.HERE: LinkKind.CLIENT,
    Scope.ROUTE: LinkKind.ROUTE,
    Scope.GATEWAY: LinkKind.GATEWAY,
    Scope.LEAF: LinkKind.LEAF,
    Scope.HUB: LinkKind.LEAF,
}
PEERS = [Scope.ROUTE, Scope.GATEWAY, Scope.LEAF, Scope.HUB]
MESSAGES = {
    Scope.HERE: b"PUB %s 1\r\nx\r\n",
    Scope.ROUTE: b"RMSG $G %s 1\r\nx\r\n",
    Scope.GATEWAY: b"RMSG $G %s 1\r\nx\r\n",
    Scope.LEAF: b"LMSG %s 1\r\nx\r\n",
    Scope.HUB: b"LMSG %s 1\r\nx\r\n",
}
INTEREST = {
    Scope.HERE: (b"SUB a 1\r\n", b"UNSUB 1\r\n"),
    Scope.ROUTE: (b"RS+ $G a\r\n", b"RS- $G a\r\n"),
    Scope.GATEWAY: (b"RS+ $G a\r\n", b"RS- $G a\r\n"),
    Scope.LEAF: (b"LS+ a\r\n", b"LS- a\r\n"),
    Scope.HUB: (b"LS+ a\r\n", b"LS- a\r\n"),
}


@pytest.fixture
def talk() -> Talk:
    return Talk(kinds=KINDS)


def place(talk: Talk, scope: Scope) -> Peer:
    if scope is Scope.HERE:
        return talk.client()
    accounts = [0] if PLACES[scope] is LinkKind.LEAF else None
    return talk.server(PLACES[scope], accounts=accounts, scope=scope)


@pytest.mark.parametrize(("source", "to"), [*product(PLACES, PLACES)])
def test_a_message_goes_where_the_matrix_says(talk: Talk, source: Scope, to: Scope) -> None:
    near, far = place(talk, source), place(talk, to)
    far.say(INTEREST[to][0])
    far.heard()
    # Twice: as it is parsed, and as a line that is repeated.
    near.say(MESSAGES[source] % b"a" * 2)

    assert far.heard().count(b"x\r\n") == 2 * (to in SCOPES[source].heard_by)


@pytest.mark.parametrize("scope", PEERS)
def test_no_message_goes_back(talk: Talk, scope: Scope) -> None:
    near = place(talk, scope)
    near.say(INTEREST[scope][0])
    near.heard()

    assert b"" == near.ask(MESSAGES[scope] % b"a" * 2)


@pytest.mark.parametrize(("source", "to"), [*product(PLACES, PEERS)])
def test_interest_is_told_where_the_matrix_says(talk: Talk, source: Scope, to: Scope) -> None:
    near, far = place(talk, source), place(talk, to)
    far.heard()
    comes, goes = INTEREST[to]
    told = source in SCOPES[to].heard_by

    near.say(INTEREST[source][0])
    assert (comes if told else b"") == far.heard()
    near.say(INTEREST[source][1])
    assert (goes if told else b"") == far.heard()


@pytest.mark.parametrize(("source", "to"), [*product(PLACES, PEERS)])
def test_a_new_link_is_told_what_there_is(talk: Talk, source: Scope, to: Scope) -> None:
    near = place(talk, source)
    near.say(INTEREST[source][0])
    far = place(talk, to)

    assert (INTEREST[to][0] if source in SCOPES[to].heard_by else b"") == far.heard()


def test_a_gateway_is_told_the_interest_of_the_cluster_once(talk: Talk) -> None:
    gateway, route, other = (place(talk, it) for it in (Scope.GATEWAY, Scope.ROUTE, Scope.ROUTE))
    client = talk.client()
    told = []
    for peer, line in (
        (route, b"RS+ $G a\r\n"),
        (other, b"RS+ $G a\r\n"),
        (client, b"SUB a 1\r\n"),
        (route, b"RS- $G a\r\n"),
        (client, b"UNSUB 1\r\n"),
        (other, b"RS- $G a\r\n"),
    ):
        peer.say(line)
        told.append(gateway.heard())

    assert [b"RS+ $G a\r\n", b"", b"", b"", b"", b"RS- $G a\r\n"] == told


def test_a_route_is_told_the_interest_of_this_server_alone(talk: Talk) -> None:
    route, other, leaf = (place(talk, it) for it in (Scope.ROUTE, Scope.ROUTE, Scope.LEAF))
    client = talk.client()
    other.say(b"RS+ $G a q 5\r\n")
    leaf.say(b"LS+ a q 2\r\n")
    client.say(b"SUB a q 1\r\n")
    leaf.say(b"LS+ a q 4\r\n")

    assert b"RS+ $G a q 2\r\nRS+ $G a q 3\r\nRS+ $G a q 5\r\n" == route.heard()


def test_a_leaf_node_is_not_told_its_own_interest(talk: Talk) -> None:
    leaf, other = place(talk, Scope.LEAF), place(talk, Scope.LEAF)
    client = talk.client()
    leaf.say(b"LS+ a q 3\r\n")
    client.say(b"SUB a q 1\r\n")

    assert b"LS+ a q 1\r\n" == leaf.heard()
    assert b"LS+ a q 3\r\nLS+ a q 4\r\n" == other.heard()
    client.say(b"UNSUB 1\r\n")

    assert b"LS- a q\r\n" == leaf.heard()
    assert b"LS+ a q 3\r\n" == other.heard()


def test_a_link_that_ends_takes_its_interest_along(talk: Talk) -> None:
    gateway, route = place(talk, Scope.GATEWAY), place(talk, Scope.ROUTE)
    route.say(b"RS+ $G a\r\nRS+ $G b q 2\r\n")
    gateway.heard()
    talk.core.hang_up(route.link)
    talk.turn()

    assert {b"RS- $G a", b"RS- $G b q"} == set(gateway.heard().split(b"\r\n")) - {b""}


def test_a_group_is_served_in_the_cluster_then_at_leaf_nodes_then_elsewhere(talk: Talk) -> None:
    gateway, leaf, route = (place(talk, it) for it in (Scope.GATEWAY, Scope.LEAF, Scope.ROUTE))
    publisher = talk.client()
    gateway.say(b"RS+ $G a q 1\r\n")
    leaf.say(b"LS+ a q 1\r\n")
    route.say(b"RS+ $G a q 1\r\n")
    got = []
    for gone in (route, leaf, gateway):
        for peer in (gateway, leaf, route):
            peer.heard()
        publisher.say(b"PUB a 1\r\nx\r\n" * 3)
        got.append([peer.heard().count(b"| q 1\r\nx") for peer in (route, leaf, gateway)])
        talk.core.hang_up(gone.link)
        talk.turn()

    assert [[3, 0, 0], [0, 3, 0], [0, 0, 3]] == got


def test_a_group_is_served_by_the_nearest_cluster(talk: Talk) -> None:
    far, near = place(talk, Scope.GATEWAY), place(talk, Scope.GATEWAY)
    # The answers to the PING that each was sent when it was registered.
    talk.now_ns += 1_000_000
    near.say(b"PONG\r\n")
    talk.now_ns += 50_000_000
    far.say(b"PONG\r\n")
    for peer in (far, near):
        peer.say(b"RS+ $G a q 1\r\n")
        peer.heard()
    talk.client().say(b"PUB a 1\r\nx\r\n" * 20)

    assert 20 == near.heard().count(b"RMSG $G a | q 1\r\nx\r\n")
    assert b"" == far.heard()


def test_a_message_of_a_route_that_names_a_group_reaches_it_at_a_leaf_node(talk: Talk) -> None:
    route, leaf = place(talk, Scope.ROUTE), place(talk, Scope.LEAF)
    leaf.say(b"LS+ a q 1\r\n")
    leaf.heard()
    route.say(b"RMSG $G a 1\r\n1\r\nRMSG $G a | q 1\r\n2\r\n")

    assert b"LMSG a | q 1\r\n2\r\n" == leaf.heard()


def test_traffic_is_counted_by_scope(talk: Talk) -> None:
    client = talk.client()
    client.say(b"SUB a 1\r\n")
    places = {scope: place(talk, scope) for scope in PEERS}
    for scope, peer in places.items():
        peer.say(MESSAGES[scope] % b"a" * scope)
    for scope, peer in places.items():
        peer.say(INTEREST[scope][0])
    client.say(b"PUB a 1\r\nx\r\n")
    peers = talk.core.account_traffic(0).peers

    assert {Scope.ROUTE: 2, Scope.GATEWAY: 3, Scope.LEAF: 4 + 5} == {
        scope: it.in_msgs for scope, it in peers.items()
    }
    assert [1, 1, 2] == [it.out_msgs for it in peers.values()]
