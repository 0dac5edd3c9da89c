"""Links to the servers of one cluster of leaf nodes, here and at other servers of this cluster."""

from __future__ import annotations

import pytest

from framework.dataplane import LinkKind
from framework.tests.dataplane.conftest import Peer, Talk
from framework.tests.dataplane.test_dialects import KINDS

TIMES = 3


@pytest.fixture
def talk() -> Talk:
    return Talk(kinds=KINDS)


def leaf_of(talk: Talk, origin: bytes) -> Peer:
    return talk.server(LinkKind.LEAF, accounts=[0], origin=origin)


def test_a_message_goes_to_no_server_of_the_cluster_that_it_comes_from(talk: Talk) -> None:
    one, two, other = leaf_of(talk, b"L"), leaf_of(talk, b"L"), leaf_of(talk, b"M")
    client = talk.client()
    client.say(b"SUB a 1\r\n")
    for leaf in (one, two, other):
        leaf.say(b"LS+ a\r\n")
        leaf.heard()
    one.say(b"LMSG a 1\r\nx\r\n" * TIMES + b"LMSG a reply 1\r\ny\r\n")

    assert b"" == one.heard() + two.heard()
    assert b"LMSG a 1\r\nx\r\n" * TIMES + b"LMSG a reply 1\r\ny\r\n" == other.heard()
    assert b"MSG a 1 1\r\nx\r\n" * TIMES + b"MSG a 1 reply 1\r\ny\r\n" == client.heard()


def test_a_group_of_the_same_cluster_is_passed_over(talk: Talk) -> None:
    one, two, other = leaf_of(talk, b"L"), leaf_of(talk, b"L"), leaf_of(talk, b"M")
    two.say(b"LS+ a q 100\r\n")
    other.say(b"LS+ a q 1\r\n")
    for leaf in (one, two, other):
        leaf.heard()
    one.say(b"LMSG a | q 1\r\nx\r\n")

    assert b"" == two.heard()
    assert b"LMSG a | q 1\r\nx\r\n" == other.heard()


@pytest.mark.parametrize("takes", [True, False])
def test_other_servers_are_told_the_cluster_that_a_message_comes_from(
    talk: Talk, *, takes: bool
) -> None:
    route, leaf = talk.route(takes_origins=takes), leaf_of(talk, b"L")
    client, plain = talk.client(), leaf_of(talk, b"")
    route.say(b"RS+ $G a\r\n")
    leaf.say(b"LMSG a 1\r\nx\r\n" * TIMES)
    leaf.say(b"LMSG a r 1\r\nx\r\nHMSG a 12 13\r\nNATS/1.0\r\n\r\nx\r\n")
    got = route.heard()

    if takes:
        header = b"LMSG L $G a 12 13\r\nNATS/1.0\r\n\r\nx\r\n"
        expected = b"LMSG L $G a 0 1\r\nx\r\n" * TIMES + b"LMSG L $G a r 0 1\r\nx\r\n" + header
    else:
        header = b"HMSG $G a 12 13\r\nNATS/1.0\r\n\r\nx\r\n"
        expected = b"RMSG $G a 1\r\nx\r\n" * TIMES + b"RMSG $G a r 1\r\nx\r\n" + header
    assert expected == got
    client.say(b"PUB a 1\r\nx\r\n")
    plain.say(b"LMSG a 1\r\nx\r\n")
    assert b"RMSG $G a 1\r\nx\r\n" * 2 == route.heard()


def test_what_other_servers_say_has_an_origin(talk: Talk) -> None:
    route, client = talk.route(takes_origins=True), talk.client()
    one, other = leaf_of(talk, b"L"), leaf_of(talk, b"M")
    client.say(b"SUB a 1\r\n")
    for leaf in (one, other):
        leaf.say(b"LS+ a\r\n")
        leaf.heard()
    route.say(b"LMSG L $G a 0 1\r\n1\r\n" * TIMES + b"LMSG N $G a r 0 1\r\n2\r\n")
    route.say(b"LMSG L $G a 12 13\r\nNATS/1.0\r\n\r\n3\r\n")

    assert b"LMSG a r 1\r\n2\r\n" == one.heard()
    header = b"HMSG a 12 13\r\nNATS/1.0\r\n\r\n3\r\n"
    expected = b"LMSG a 1\r\n1\r\n" * TIMES + b"LMSG a r 1\r\n2\r\n" + header
    assert expected == other.heard()
    assert client.heard().count(b"MSG a 1 ") == TIMES + 2


def test_a_link_that_comes_later_has_its_cluster_too(talk: Talk) -> None:
    """A line that is remembered was said when nobody here was of that cluster."""
    route, client = talk.route(), talk.client()
    client.say(b"SUB a 1\r\n")
    route.say(b"LMSG L $G a 0 1\r\n1\r\n" * TIMES)
    leaf = leaf_of(talk, b"L")
    leaf.say(b"LS+ a\r\n")
    leaf.heard()
    route.say(b"LMSG L $G a 0 1\r\n1\r\n" * TIMES)

    assert b"" == leaf.heard()


def test_servers_of_one_cluster_are_not_told_of_each_other(talk: Talk) -> None:
    one, two, other = leaf_of(talk, b"L"), leaf_of(talk, b"L"), leaf_of(talk, b"M")
    one.say(b"LS+ a\r\nLS+ b q 2\r\n")
    late = leaf_of(talk, b"L")

    assert b"" == two.heard() + late.heard()
    assert b"LS+ a\r\nLS+ b q 2\r\n" == other.heard()
    client = talk.client()
    client.say(b"SUB a 1\r\nSUB b q 2\r\n")
    assert b"LS+ a\r\nLS+ b q 1\r\n" == two.heard() == late.heard()
    assert b"LS+ b q 3\r\n" == other.heard()
    client.say(b"UNSUB 1\r\nUNSUB 2\r\n")
    assert b"LS- a\r\nLS- b q\r\n" == two.heard() == late.heard()
    one.say(b"LS- a\r\nLS- b q\r\n")
    assert b"" == two.heard()
    assert b"LS+ b q 2\r\nLS- a\r\nLS- b q\r\n" == other.heard()


def test_interest_of_other_servers_may_have_an_origin(talk: Talk) -> None:
    route, one, other = talk.route(), leaf_of(talk, b"L"), leaf_of(talk, b"M")
    route.say(b"LS+ L $G a\r\nLS+ L $G b q 2\r\n")
    late = leaf_of(talk, b"L")

    assert b"" == one.heard() + late.heard()
    assert b"LS+ a\r\nLS+ b q 2\r\n" == other.heard()
    route.say(b"RS+ $G a\r\n")
    assert b"LS+ a\r\n" == one.heard() == late.heard()
    assert b"" == other.heard()
    client = talk.client()
    route.heard()
    client.say(b"PUB a 1\r\nx\r\n")
    assert b"RMSG $G a 1\r\nx\r\n" == route.heard()
    route.say(b"RS- $G a\r\n")
    assert b"LS- a\r\n" == one.heard()
    assert b"" == other.heard()
    route.say(b"LS- L $G a\r\n")
    assert b"LS- a\r\n" == other.heard()
    client.say(b"PUB a 1\r\nx\r\n")
    assert b"" == route.heard()


def test_interest_with_an_origin_ends_with_its_route(talk: Talk) -> None:
    route, other = talk.route(), leaf_of(talk, b"M")
    route.say(b"LS+ L $G a\r\n")
    assert b"LS+ a\r\n" == other.heard()
    talk.core.hang_up(route.link)
    assert b"LS- a\r\n" == other.heard()
    one, client = leaf_of(talk, b"L"), talk.client()
    client.say(b"SUB a 1\r\n")

    assert b"LS+ a\r\n" == one.heard()


def test_other_servers_are_told_the_origin_of_interest(talk: Talk) -> None:
    route, plain, client = talk.route(takes_origins=True), talk.route(), talk.client()
    one, two, other = leaf_of(talk, b"L"), leaf_of(talk, b"L"), leaf_of(talk, b"M")
    one.say(b"LS+ a\r\nLS+ b q 2\r\n")
    two.say(b"LS+ a\r\nLS+ b q 3\r\n")

    assert b"LS+ L $G a\r\nLS+ L $G b q 2\r\nLS+ L $G b q 5\r\n" == route.heard()
    assert b"RS+ $G a\r\nRS+ $G b q 2\r\nRS+ $G b q 5\r\n" == plain.heard()
    other.say(b"LS+ a\r\n")
    client.say(b"SUB a 1\r\nSUB b q 2\r\n")
    assert b"LS+ M $G a\r\nRS+ $G a\r\nRS+ $G b q 1\r\n" == route.heard()
    late = talk.route(takes_origins=True)
    told = [b"LS+ L $G a", b"LS+ L $G b q 5", b"LS+ M $G a", b"RS+ $G a", b"RS+ $G b q 1"]
    assert told == sorted(late.heard().split(b"\r\n")[:-1])
    client.say(b"UNSUB 1\r\nUNSUB 2\r\n")
    one.say(b"LS- a\r\nLS- b q\r\n")
    assert b"RS- $G a\r\nRS- $G b q\r\nLS+ L $G b q 3\r\n" == route.heard()
    talk.core.hang_up(two.link)
    ended = route.heard()
    assert {b"LS- L $G a", b"LS- L $G b q"} == set(ended.split(b"\r\n")[:-1])
    other.say(b"LS- a\r\n")
    assert b"LS- M $G a\r\n" == route.heard()


def test_a_group_at_other_servers_of_the_cluster_comes_before_its_leaf_nodes(talk: Talk) -> None:
    near, far, client = talk.route(), talk.route(), talk.client()
    far.say(b"LS+ L $G a q 9\r\n")
    client.say(b"PUB a 1\r\nx\r\n" * TIMES)
    assert b"RMSG $G a | q 1\r\nx\r\n" * TIMES == far.heard()
    near.say(b"RS+ $G a q 1\r\n")
    client.say(b"PUB a 1\r\nx\r\n" * TIMES)
    assert b"RMSG $G a | q 1\r\nx\r\n" * TIMES == near.heard()
    assert b"" == far.heard()
    near.say(b"RS- $G a q\r\n")
    client.say(b"PUB a 1\r\nx\r\n")
    assert b"RMSG $G a | q 1\r\nx\r\n" == far.heard()


def test_leaf_nodes_here_and_at_other_servers_serve_a_group_by_their_number(talk: Talk) -> None:
    route, client, times = talk.route(), talk.client(), 400
    leafs = [leaf_of(talk, b"L"), leaf_of(talk, b"M")]
    for leaf, weight in zip(leafs, (1, 2), strict=True):
        leaf.say(b"LS+ a q %d\r\n" % weight)
        leaf.heard()
    route.say(b"LS+ N $G a q 1\r\n")
    route.heard()
    client.say(b"PUB a 1\r\nx\r\n" * times)
    got = [it.heard().count(b"MSG") for it in (*leafs, route)]

    assert sum(got) == times
    assert [it / times for it in got] == pytest.approx([0.25, 0.5, 0.25], abs=0.08)


def test_a_group_of_the_same_cluster_at_another_server_is_passed_over(talk: Talk) -> None:
    route, leaf, other = talk.route(takes_origins=True), leaf_of(talk, b"L"), talk.route()
    route.say(b"LS+ L $G a q 9\r\n")
    other.say(b"LS+ M $G a q 1\r\n")
    route.heard()
    leaf.say(b"LMSG a | q 1\r\nx\r\n" * TIMES)

    assert b"" == route.heard()
    assert b"RMSG $G a | q 1\r\nx\r\n" * TIMES == other.heard()


def test_what_is_left_of_origins_when_leaf_nodes_come_and_go(talk: Talk) -> None:
    route = talk.route(takes_origins=True)
    leafs = [leaf_of(talk, b"L%d" % at) for at in range(5)]
    for leaf in leafs:
        leaf.say(b"LS+ a\r\n")
    assert b"".join(b"LS+ L%d $G a\r\n" % at for at in range(5)) == route.heard()
    client = talk.client()
    client.say(b"SUB a 1\r\n")
    assert b"RS+ $G a\r\n" == route.heard()
    for at in (2, 0, 4):
        talk.core.hang_up(leafs[at].link)
        assert b"LS- L%d $G a\r\n" % at == route.heard()
    client.say(b"UNSUB 1\r\n")
    assert b"RS- $G a\r\n" == route.heard()
    late = talk.route(takes_origins=True)
    assert {b"LS+ L1 $G a", b"LS+ L3 $G a"} == set(late.heard().split(b"\r\n")[:-1])
