"""Interest and messages between servers: what the plane itself does on a route."""

from __future__ import annotations

from framework.dataplane import InterestChanged
from framework.tests.dataplane.conftest import Talk


def test_a_new_route_is_told_all_local_interest(talk: Talk) -> None:
    client = talk.client()
    client.say(b"SUB a 1\r\nSUB a 2\r\nSUB b.* q 3\r\nSUB b.* q 4\r\n")
    route = talk.route()

    assert {b"RS+ $G a", b"RS+ $G b.* q 2"} == set(route.heard().split(b"\r\n")) - {b""}


def test_interest_is_told_as_it_changes(talk: Talk) -> None:
    client, route = talk.client(), talk.route()

    for said, told in [
        (b"SUB a 1\r\n", b"RS+ $G a\r\n"),
        (b"SUB a 2\r\n", b""),
        (b"UNSUB 1\r\n", b""),
        (b"UNSUB 2\r\n", b"RS- $G a\r\n"),
        (b"SUB b q 1\r\n", b"RS+ $G b q 1\r\n"),
        (b"SUB b q 2\r\n", b"RS+ $G b q 2\r\n"),
        (b"UNSUB 1\r\n", b"RS+ $G b q 1\r\n"),
        (b"UNSUB 2\r\n", b"RS- $G b q\r\n"),
    ]:
        client.say(said)

        assert told == route.heard()


def test_interest_of_a_client_that_leaves_is_withdrawn(talk: Talk) -> None:
    client, route = talk.client(), talk.route()
    client.say(b"SUB a 1\r\nSUB b q 2\r\n")
    route.heard()
    talk.core.hang_up(client.link)
    talk.turn()

    assert {b"RS- $G a", b"RS- $G b q"} == set(route.heard().split(b"\r\n")) - {b""}


def test_interest_goes_before_the_message_that_needs_it(talk: Talk) -> None:
    client, route = talk.client(), talk.route()
    route.say(b"RS+ $G service\r\n")
    client.say(b"SUB _I.1 1\r\nPUB service _I.1 2\r\nhi\r\n")

    assert b"RS+ $G _I.1\r\nRMSG $G service _I.1 2\r\nhi\r\n" == route.heard()


def test_a_server_gets_one_copy_whatever_its_interest(talk: Talk) -> None:
    client, route = talk.client(), talk.route()
    route.say(b"RS+ $G a.b\r\nRS+ $G a.*\r\nRS+ $G >\r\nRS+ $G a.b q 2\r\n")
    client.say(b"PUB a.b 2\r\nhi\r\nPUB a.b r 2\r\nhi\r\nHPUB a.b 12 14\r\nNATS/1.0\r\n\r\nhi\r\n")

    assert (
        b"RMSG $G a.b | q 2\r\nhi\r\nRMSG $G a.b + r q 2\r\nhi\r\n"
        b"HMSG $G a.b | q 12 14\r\nNATS/1.0\r\n\r\nhi\r\n"
    ) == route.heard()


def test_interest_of_a_route_can_be_withdrawn(talk: Talk) -> None:
    client, route = talk.client(), talk.route()
    route.say(b"RS+ $G a\r\nRS+ $G a q 1\r\nRS- $G a\r\n")
    client.say(b"PUB a 2\r\nhi\r\n")
    first = route.heard()
    route.say(b"RS- $G a q\r\n")
    client.say(b"PUB a 2\r\nhi\r\n")

    assert b"RMSG $G a | q 2\r\nhi\r\n" == first
    assert b"" == route.heard()


def test_a_routed_message_goes_to_clients_only(talk: Talk) -> None:
    client, member, route, other = talk.client(), talk.client(), talk.route(), talk.route()
    client.say(b"SUB a 1\r\n")
    member.say(b"SUB a q 1\r\n")
    other.say(b"RS+ $G a\r\n")
    other.heard()
    route.say(b"RMSG $G a 1\r\nx\r\nRMSG $G a | q 1\r\ny\r\nRMSG $G a + r q none 1\r\nz\r\n")

    assert b"MSG a 1 1\r\nx\r\nMSG a 1 1\r\ny\r\nMSG a 1 r 1\r\nz\r\n" == client.heard()
    assert b"MSG a 1 1\r\ny\r\nMSG a 1 r 1\r\nz\r\n" == member.heard()
    assert b"" == other.heard()


def test_members_everywhere_are_chosen_evenly(talk: Talk) -> None:
    client, route, other = talk.client(), talk.route(), talk.route()
    client.say(b"SUB q g 1\r\n")
    route.say(b"RS+ $G q g 2\r\n")
    other.say(b"RS+ $G q g 1\r\n")
    for peer in (client, route, other):
        peer.heard()
    talk.client().say(b"PUB q 1\r\nx\r\n" * 4000)
    here, there, further = (peer.heard().count(b"MSG") for peer in (client, route, other))

    assert 4000 == here + there + further
    assert 850 < here < 1150
    assert 1800 < there < 2200


def test_a_weight_that_changes_counts(talk: Talk) -> None:
    client, route, other = talk.client(), talk.route(), talk.route()
    route.say(b"RS+ $G q g 1\r\nRS+ $G q g 9\r\n")
    other.say(b"RS+ $G q g 1\r\n")
    client.say(b"PUB q 1\r\nx\r\n" * 1000)

    assert 850 < route.heard().count(b"RMSG") < 950


def test_two_cores_talk_to_each_other() -> None:
    near, far = Talk(), Talk()
    here, there = near.client(), far.client()
    west, east = near.route(), far.route()

    def exchange() -> None:
        for _ in range(4):
            east.say(west.heard() or b"PING\r\n")
            west.say(east.heard() or b"PING\r\n")

    here.say(b"SUB news.* 1\r\n")
    there.say(b"SUB work q 2\r\n")
    exchange()
    there.say(b"PUB news.today 5\r\nhello\r\n")
    here.say(b"PUB work reply 3\r\njob\r\n")
    exchange()

    assert b"MSG news.today 1 5\r\nhello\r\n" == here.heard()
    assert b"MSG work 2 reply 3\r\njob\r\n" == there.heard()


def test_a_route_without_headers_gets_the_payload_alone(talk: Talk) -> None:
    client, route = talk.client(), talk.route(headers=False)
    route.say(b"RS+ $G a\r\n")
    client.say(b"HPUB a 12 14\r\nNATS/1.0\r\n\r\nhi\r\n")

    assert b"RMSG $G a 2\r\nhi\r\n" == route.heard()


def test_a_pinned_connection_leaves_the_account_out(talk: Talk) -> None:
    client = talk.client()
    client.say(b"SUB a 1\r\n")
    route = talk.route(accounts=[0], account_omitted=True)
    first = route.heard()
    route.say(b"RS+ b\r\nRMSG a 1\r\nx\r\n")
    client.say(b"PUB b 1\r\ny\r\n")

    assert b"RS+ a\r\n" == first
    assert b"RMSG b 1\r\ny\r\n" == route.heard()
    assert b"MSG a 1 1\r\nx\r\n" == client.heard()


def test_interest_is_reported_to_who_watches(talk: Talk) -> None:
    talk.core.watch_interest(watch=True)
    client = talk.client()
    client.say(b"SUB a 1\r\nSUB a 2\r\nSUB b q 3\r\nUNSUB 1\r\nUNSUB 2\r\n")

    assert [(b"a", b"", 1), (b"b", b"q", 1), (b"a", b"", 0)] == [
        (event.subject, event.queue, event.weight) for event in talk.of(InterestChanged)
    ]
