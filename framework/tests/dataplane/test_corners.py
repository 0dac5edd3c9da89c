"""What peers and callers may try at the edges: nothing of it harms the plane."""

from __future__ import annotations

import pytest

from framework.dataplane import Batch, Closed, Core, Greeting, LinkKind, Opened, PlaneLimits, Traced
from framework.tests.dataplane.conftest import Talk

LONG = 70_000
"""More than 16 bits can say."""
WIDE = PlaneLimits(max_control_line=100_000)


def test_weights_may_add_up_to_more_than_32_bits(talk: Talk) -> None:
    client, west, east = talk.client(), talk.route(), talk.route()
    west.say(b"".join(b"RS+ $G %b g 999999999\r\n" % subject for subject in (b"a", b"*", b">")))
    east.say(b"RS+ $G a g 999999999\r\nRS+ $G * g 294967300\r\n")
    client.say(b"PUB a 1\r\nx\r\n" * 100)

    assert 100 == (west.heard() + east.heard()).count(b"RMSG")


def test_a_sid_may_be_long() -> None:
    talk = Talk(WIDE)
    client = talk.client()
    client.say(b"SUB a " + b"s" * LONG + b"\r\n")

    assert b"MSG a " + b"s" * LONG + b" 1\r\nx\r\n" == client.ask(b"PUB a 1\r\nx\r\n")


def test_a_queue_group_may_have_a_long_name() -> None:
    talk = Talk(WIDE)
    client = talk.client()
    client.say(b"".join(b"SUB a " + b"q" * 65_536 + b" %d\r\n" % sid for sid in range(5)))

    assert 1 == client.ask(b"PUB a 1\r\nx\r\n").count(b"MSG")


@pytest.mark.parametrize("kind", [LinkKind.CLIENT, LinkKind.ROUTE])
def test_no_line_is_longer_than_a_block_can_hold(kind: LinkKind) -> None:
    talk = Talk(PlaneLimits(max_control_line=10_000_000))
    peer, verb = (talk.client(), b"SUB ") if kind is LinkKind.CLIENT else (talk.route(), b"RS+ $G ")
    heard = peer.ask(verb + b"a" * 120_000 + b" q 1\r\nPING\r\n")
    refused = peer.ask(verb + b"a" * 300_000 + b" q 1\r\n")

    assert b"PONG\r\n" == heard
    assert b"-ERR 'maximum control line exceeded'\r\n" == refused


@pytest.mark.parametrize("pieces", [1, 3, 30])
@pytest.mark.parametrize("size", [40_000, 140_000, 600_000, 1_000_000])
def test_a_connect_may_be_as_long_as_max_control_line_says(size: int, pieces: int) -> None:
    """What stands behind it is kept until it is answered."""
    talk = Talk(PlaneLimits(max_control_line=1_040_000, auth_required=True))
    peer = talk.stranger()
    document = b'{"verbose":false,"jwt":"%b"}' % (b"e" * size)
    behind = b"SUB a 1\r\nPUB a 100000\r\n" + b"x" * 100_000 + b"\r\nPING\r\n"
    data = b"CONNECT " + document + b"\r\n" + behind
    step = len(data) // pieces + 1
    heard = b"".join(peer.ask(data[at : at + step]) for at in range(0, len(data), step))

    assert [document] == [it.document for it in talk.of(Greeting)]
    assert heard.endswith(b"MSG a 1 100000\r\n" + b"x" * 100_000 + b"\r\nPONG\r\n")


@pytest.mark.parametrize(("most", "size"), [(1_000_000, 1_000_100), (1 << 30, 1_048_700)])
def test_no_connect_is_longer_than_that(most: int, size: int) -> None:
    talk = Talk(PlaneLimits(max_control_line=most, auth_required=True))
    peer = talk.stranger()
    data = b'CONNECT {"jwt":"' + b"e" * size
    heard = b"".join(peer.ask(data[at : at + 50_000]) for at in range(0, len(data), 50_000))

    assert heard.endswith(b"-ERR 'maximum control line exceeded'\r\n")


@pytest.mark.parametrize("token", [b"a.", b"*."])
def test_a_subject_may_have_as_many_tokens_as_a_line_holds(token: bytes) -> None:
    talk = Talk(PlaneLimits(max_control_line=1_000_000))
    client, route = talk.client(), talk.route()
    client.say(b"SUB " + token * 60_000 + b"* 1\r\n")
    route.say(b"RS+ $G " + token * 30_000 + b">\r\n")
    heard = client.ask(b"PUB " + b"a." * 60_000 + b"a 1\r\nx\r\n")

    assert b"MSG" == heard[:3]
    assert 1 == route.heard().count(b"RMSG")


def test_a_carriage_return_within_a_line_parts_words(talk: Talk) -> None:
    client, route = talk.client(), talk.route()
    client.say(b"SUB a\rq 1\r\n")

    assert b"RS+ $G a q 1\r\n" == route.heard()


def test_a_route_that_carries_an_account_twice_carries_it_once(talk: Talk) -> None:
    client, route = talk.client(), talk.route(accounts=(0, 0))
    client.say(b"SUB a 1\r\n")
    heard = route.heard()
    talk.core.hang_up(route.link)
    talk.turn()
    client.say(b"SUB b 2\r\n")

    assert b"RS+ $G a\r\n" == heard
    assert b"MSG b 2 1\r\nx\r\n" == client.ask(b"PUB b 1\r\nx\r\n")


def test_a_client_is_not_registered_as_a_route_nor_a_route_as_a_client(talk: Talk) -> None:
    client, route = talk.client(), talk.route(registered=False)
    stranger = talk.stranger()
    talk.core.register_peer(stranger.link)
    talk.core.resume_client(
        route.link,
        verbose=True,
        pedantic=False,
        echo=True,
        headers=True,
        no_responders=True,
        protocol=1,
    )
    talk.turn()
    client.say(b"SUB a 1\r\n")

    assert b"" == stranger.heard()
    assert b"" == route.heard()


def test_this_process_may_publish_longer_lines_than_clients() -> None:
    talk = Talk(PlaneLimits(max_control_line=100))
    client = talk.client()
    client.say(b"SUB > 1\r\n")
    talk.core.publish(0, [(b"a" * 100_000, b"", b"", b"x"), (b"b", b"", b"", b"y")])
    heard = client.heard() + client.heard()

    assert b"MSG " + b"a" * 100_000 + b" 1 1\r\nx\r\nMSG b 1 1\r\ny\r\n" == heard
    assert [] == talk.of(Closed)


def test_a_message_of_this_process_has_at_most_nine_digits_of_bytes(talk: Talk) -> None:
    with pytest.raises(ValueError, match="too long"):
        talk.core.publish(0, [(b"a", b"", b"", bytes(1_000_000_000))])


def test_an_account_has_a_name(talk: Talk) -> None:
    with pytest.raises(ValueError, match="name"):
        talk.core.add_account(b"")


def test_a_batch_that_is_made_by_hand_is_empty() -> None:
    batch = Batch()

    assert 0 == len(batch)
    assert [] == batch.detach()
    assert b"" == bytes(memoryview(batch))
    with pytest.raises(IndexError):
        batch.payload(0)


def test_a_core_may_be_dropped_in_the_middle_of_a_turn() -> None:
    core = Core(PlaneLimits())
    core.subscribe_sink(0, b"s")
    core.turn(1)
    link = core.open(LinkKind.CLIENT, "127.0.0.1", 1, accepted=True)
    core.feed(link, b"PUB s 1\r\nx\r\nSUB a 1\r\nPUB a 3\r\n", 2)
    core.subscribe_sink(0, b"t")
    core.turn(3)
    core.feed(link, b"abc\r\nPUB s 1\r\ny\r\n", 4)

    assert [Opened] == [type(event) for event in core.take_events()][:1]
    del core


def test_a_line_is_traced_once_however_its_payload_comes(talk: Talk) -> None:
    client = talk.client()
    talk.core.trace(on=True)
    talk.turn()
    for part in (b"PUB a 5\r\nhe", b"ll", b"o\r\nPUB a 1\r\n", b"x\r\n"):
        client.say(part)

    traced = [b"PUB a 5", b"hello", b"PUB a 1", b"x"]

    assert traced == [event.text for event in talk.of(Traced)]
