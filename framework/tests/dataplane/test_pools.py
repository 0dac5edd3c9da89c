"""Which connection to a server carries an account: pools, and connections of an account's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from framework.dataplane import PeerTerms, PongReceived
from framework.tests.dataplane.conftest import Peer

if TYPE_CHECKING:
    from framework.tests.dataplane.conftest import Talk

NAMES = (b"$G", b"$SYS", b"A", b"B", b"ACME")
PEER, OTHER = 1, 2


def _accounts(talk: Talk) -> list[int]:
    return [talk.core.add_account(name) for name in NAMES]


def _pool(talk: Talk, size: int, peer: int = PEER) -> list[Peer]:
    return [talk.route(peer=peer, pool_index=index, pool_size=size) for index in range(size)]


def _pin(talk: Talk, accounts: list[int]) -> None:
    talk.core.pin_accounts(accounts)
    talk.turn()


def _interest(peer: Peer) -> set[bytes]:
    return {line for line in peer.heard().split(b"\r\n") if line.startswith(b"RS")}


@pytest.mark.parametrize(
    ("size", "indexes"),
    [(3, [2, 0, 0, 0, 1]), (5, [3, 0, 2, 4, 3]), (1, [0, 0, 0, 0, 0])],
)
def test_the_name_of_an_account_says_which_connection_of_a_pool_carries_it(
    talk: Talk, size: int, indexes: list[int]
) -> None:
    for account in _accounts(talk):
        talk.client(account=account).say(b"SUB a 1\r\n")
    told = [_interest(peer) for peer in _pool(talk, size)]

    assert told == [
        {b"RS+ %b a" % name for name, at in zip(NAMES, indexes, strict=True) if at == index}
        for index in range(size)
    ]


def test_interest_and_messages_of_an_account_take_its_connection(talk: Talk) -> None:
    acme = _accounts(talk)[4]
    client, pool = talk.client(account=acme), _pool(talk, 3)
    pool[1].say(b"RS+ ACME service\r\n")
    client.say(b"SUB _I 1\r\nPUB service _I 1\r\nx\r\n")

    assert [b"", b"RS+ ACME _I\r\nRMSG ACME service _I 1\r\nx\r\n", b""] == [
        peer.heard() for peer in pool
    ]


def test_accounts_that_come_later_go_to_their_connection(talk: Talk) -> None:
    pool = _pool(talk, 3)
    client = talk.client(account=_accounts(talk)[4])
    client.say(b"SUB a 1\r\n")

    assert [set(), {b"RS+ ACME a"}, set()] == [_interest(peer) for peer in pool]


def test_a_peer_without_pools_gets_all_accounts_on_its_connection(talk: Talk) -> None:
    accounts = _accounts(talk)
    _pin(talk, accounts[1:3])
    for account in accounts:
        talk.client(account=account).say(b"SUB a 1\r\n")

    assert {b"RS+ %b a" % name for name in NAMES} == _interest(talk.route(peer=PEER))


def test_pinned_accounts_are_in_no_pool(talk: Talk) -> None:
    accounts = _accounts(talk)
    _pin(talk, [accounts[2]])
    for account in accounts[1:4]:
        talk.client(account=account).say(b"SUB a 1\r\n")
    pool = _pool(talk, 3)
    own = talk.route(peer=PEER, accounts=[accounts[2]], account_omitted=True)

    assert {b"RS+ $SYS a", b"RS+ B a"} == _interest(pool[0])
    assert {b"RS+ a"} == _interest(own)


def test_an_account_that_becomes_pinned_leaves_its_pool_without_a_word(talk: Talk) -> None:
    accounts = _accounts(talk)
    client, pool = talk.client(account=accounts[2]), _pool(talk, 3)
    client.say(b"SUB a 1\r\n")
    pool[0].say(b"RS+ A b\r\nRS+ B b\r\n")
    pool[0].heard()
    _pin(talk, [accounts[2]])
    client.say(b"SUB c 2\r\nUNSUB 1\r\nPUB b 1\r\nx\r\n")
    talk.client(account=accounts[3]).say(b"PUB b 1\r\ny\r\n")

    # Its server may know nothing of that yet, and has no other connection for it.
    assert b"RMSG A b 1\r\nx\r\nRMSG B b 1\r\ny\r\n" == pool[0].heard()


def test_an_account_that_is_pinned_for_a_moment_goes_on_by_what_its_server_said_before(
    talk: Talk,
) -> None:
    accounts = _accounts(talk)
    client, pool = talk.client(account=accounts[2]), _pool(talk, 3)
    pool[0].say(b"RS+ A b\r\n")
    _pin(talk, [accounts[2]])
    _pin(talk, [])
    client.say(b"PUB b 1\r\nx\r\n")

    assert b"RMSG A b 1\r\nx\r\n" in pool[0].heard()


def test_an_account_that_is_pinned_no_more_comes_back_whole(talk: Talk) -> None:
    accounts = _accounts(talk)
    client, pool = talk.client(account=accounts[2]), _pool(talk, 3)
    _pin(talk, accounts[2:4])
    client.say(b"SUB a 1\r\nSUB b q 2\r\nSUB b q 3\r\n")
    _pin(talk, [accounts[3]])

    assert [{b"RS+ A a", b"RS+ A b q 2"}, set(), set()] == [_interest(peer) for peer in pool]


def test_a_connection_of_an_account_takes_it_from_the_others_to_that_server(talk: Talk) -> None:
    accounts = _accounts(talk)
    client = talk.client(account=accounts[2])
    single, pool = talk.route(peer=OTHER), _pool(talk, 3)
    for peer in (single, pool[0]):
        peer.say(b"RS+ A b\r\n")
    own = talk.route(peer=PEER, accounts=[accounts[2]], account_omitted=True)
    client.say(b"SUB a 1\r\nPUB b 1\r\nx\r\n")

    assert b"RS+ a\r\nRMSG b 1\r\nx\r\n" == own.heard()
    assert b"" == pool[0].heard()
    assert b"RS+ A a\r\nRMSG A b 1\r\nx\r\n" == single.heard()


def test_what_the_others_brought_counts_until_that_server_has_moved(talk: Talk) -> None:
    account = _accounts(talk)[2]
    client, pool = talk.client(account=account), _pool(talk, 3)
    pool[0].say(b"PONG\r\nRS+ A early\r\n")
    own = talk.route(peer=PEER, accounts=[account], account_omitted=True)
    pool[0].say(b"RS+ A late\r\nRS+ A gone\r\nRMSG A x 1\r\n.\r\n")
    client.say(b"PUB early 1\r\n1\r\nPUB late 1\r\n2\r\n")
    before = own.heard()
    own.say(b"PONG\r\nRS+ early\r\nRS+ late\r\n")
    asked = pool[0].heard()
    pool[0].say(b"RS+ A later\r\nPONG\r\n")
    client.say(b"".join(b"PUB %b 1\r\n3\r\n" % s for s in (b"early", b"late", b"gone", b"later")))

    assert b"RMSG early 1\r\n1\r\nRMSG late 1\r\n2\r\n" == before
    assert b"PING\r\n" == asked
    assert b"RMSG early 1\r\n3\r\nRMSG late 1\r\n3\r\n" == own.heard()
    assert b"" == pool[0].heard()


def test_what_the_others_bring_after_that_counts_again(talk: Talk) -> None:
    account = _accounts(talk)[2]
    client, pool = talk.client(account=account), _pool(talk, 3)
    pool[0].say(b"PONG\r\n")
    own = talk.route(peer=PEER, accounts=[account], account_omitted=True)
    own.say(b"PONG\r\n")
    pool[0].say(b"PONG\r\nRS+ A back\r\n")
    pool[0].heard()
    client.say(b"PUB back 1\r\nx\r\n")

    assert b"RMSG A back 1\r\nx\r\n" == pool[0].heard()


def test_a_move_ends_with_either_connection(talk: Talk) -> None:
    account = _accounts(talk)[2]
    client, pool = talk.client(account=account), _pool(talk, 3)
    for first, second in ((0, 1), (1, 0)):
        pool[0].say(b"RS+ A a\r\n")
        own = talk.route(peer=PEER, accounts=[account], account_omitted=True)
        ends = [own, pool[0]]
        talk.core.hang_up(ends[first].link)
        talk.turn()
        client.say(b"PUB a 1\r\nx\r\n")
        heard = ends[second].heard()

        assert heard == (b"RMSG A a 1\r\nx\r\n" if second else b"")


def test_repeated_lines_take_the_connection_that_others_take(talk: Talk) -> None:
    account = _accounts(talk)[2]
    client, pool = talk.client(account=account), _pool(talk, 3)
    pool[0].say(b"PONG\r\nRS+ A a\r\n")
    line, other = b"PUB a 1\r\nx\r\n", b"PUB a 2\r\nxx\r\n"
    client.say(line * 3)
    before = pool[0].heard()
    own = talk.route(peer=PEER, accounts=[account], account_omitted=True)
    client.say(line * 3 + other + line * 3)
    moved = own.heard()
    talk.core.hang_up(own.link)
    talk.turn()
    client.say(line * 3)

    assert b"RMSG A a 1\r\nx\r\n" * 3 == before == pool[0].heard()
    assert b"RMSG a 1\r\nx\r\n" * 3 + b"RMSG a 2\r\nxx\r\n" + b"RMSG a 1\r\nx\r\n" * 3 == moved


@pytest.mark.parametrize("has_taken", [True, False])
def test_what_a_connection_brings_that_comes_after_an_account_has_its_own_is_forgotten(
    talk: Talk,
    *,
    has_taken: bool,
) -> None:
    account = _accounts(talk)[2]
    client = talk.client(account=account)
    own = talk.route(peer=PEER, accounts=[account], account_omitted=True)
    if has_taken:
        own.say(b"PONG\r\n")
    pool = talk.route(peer=PEER, pool_index=0, pool_size=3)
    pool.say(b"RS+ A a\r\nPONG\r\n" if has_taken else b"PONG\r\nRS+ A a\r\n")
    if not has_taken:
        client.say(b"PUB a 1\r\nx\r\n")
        own.say(b"PONG\r\n")
        pool.say(b"PONG\r\n")
    talk.turn()
    before = own.heard()
    client.say(b"PUB a 1\r\nx\r\n")

    assert (b"" if has_taken else b"RMSG a 1\r\nx\r\n") == before
    assert b"" == own.heard()
    assert b"RMSG" not in pool.heard()


def test_the_pool_has_an_account_again_when_its_connection_ends(talk: Talk) -> None:
    account = _accounts(talk)[2]
    talk.client(account=account).say(b"SUB a 1\r\n")
    _pin(talk, [account])
    pool = _pool(talk, 3)
    own = talk.route(peer=PEER, accounts=[account], account_omitted=True)
    _pin(talk, [])
    before = _interest(pool[0])
    talk.core.hang_up(own.link)

    assert (set(), {b"RS+ A a"}) == (before, _interest(pool[0]))


def test_a_pinned_account_stops_while_its_connection_is_broken(talk: Talk) -> None:
    account = _accounts(talk)[2]
    talk.client(account=account).say(b"SUB a 1\r\n")
    _pin(talk, [account])
    pool = _pool(talk, 3)
    talk.core.hang_up(talk.route(peer=PEER, accounts=[account], account_omitted=True).link)
    again = talk.route(peer=PEER, accounts=[account], account_omitted=True)

    assert (set(), {b"RS+ a"}) == (_interest(pool[0]), _interest(again))


def test_a_server_gets_a_message_once_whatever_its_connections_say(talk: Talk) -> None:
    client, pool, single = talk.client(), _pool(talk, 3), talk.route(peer=OTHER)
    for peer in (*pool, single):
        peer.say(b"RS+ $G a\r\nRS+ $G a.* q 2\r\nRS+ $G a.b work 3\r\n")
    client.say(b"PUB a 1\r\nx\r\n")
    plain = [peer.heard() for peer in (*pool, single)]
    client.say(b"PUB a.b 1\r\ny\r\n" * 50)
    heard = [peer.heard() for peer in (*pool, single)]
    groups = b"".join(heard).replace(b"|", b"").split(b"\r\n")[::2]

    assert 2 == sum(text == b"RMSG $G a 1\r\nx\r\n" for text in plain)
    assert plain[3]
    assert 50 <= len(groups) - 1 <= 100
    assert 100 == sum(line.count(b" q") + line.count(b" work") for line in groups)


def test_groups_that_are_picked_on_two_connections_of_a_server_share_a_message(talk: Talk) -> None:
    client, pool = talk.client(), _pool(talk, 3)
    pool[0].say(b"RS+ $G a one 1\r\n")
    pool[1].say(b"RS+ $G a two 1\r\n")
    pool[2].say(b"RS+ $G a\r\n")
    client.say(b"PUB a 1\r\nx\r\n")
    heard = b"".join(peer.heard() for peer in pool)

    assert 1 == heard.count(b"RMSG")
    assert {b"one", b"two"} <= set(heard.split())


def test_a_route_is_pinged_at_once_and_again_after_a_second(talk: Talk) -> None:
    route = Peer(talk, talk.route(peer=PEER).link)
    talk.now_ns += 20
    route.say(b"PONG\r\n")
    (answer,) = talk.of(PongReceived)
    talk.turn(1.1)
    talk.turn(1.1)

    assert (route.link, 20) == (answer.link, answer.rtt_ns)
    assert b"PING\r\n" == route.heard()


def test_an_account_that_was_removed_comes_back_on_its_connections(talk: Talk) -> None:
    accounts = _accounts(talk)
    pool = _pool(talk, 3)
    own = talk.route(peer=PEER, accounts=[accounts[2]], account_omitted=True)
    for account in accounts[2:4]:
        talk.core.remove_account(account)
    talk.turn()
    for account, name in zip(accounts[2:4], NAMES[2:4], strict=True):
        assert account == talk.core.add_account(name)
        talk.client(account=account).say(b"SUB a 1\r\n")

    assert [{b"RS+ B a"}, {b"RS+ a"}] == [_interest(pool[0]), _interest(own)]


@pytest.mark.parametrize(
    "terms",
    [
        {"pool_size": 3, "pool_index": 3},
        {"pool_index": 1},
        {"pool_size": -1},
        {"pool_size": 3, "pool_index": -1},
        {"accounts": [1]},
        {"account_omitted": True},
        {"account_omitted": True, "accounts": [0, 0]},
    ],
)
def test_terms_that_make_no_sense_are_refused(talk: Talk, terms: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"connection|account"):
        talk.core.register_peer(talk.route(registered=False).link, PeerTerms(**terms))
