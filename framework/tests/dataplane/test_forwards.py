"""Forwards: prefixes that say by themselves where a message goes, asked before the match."""

from __future__ import annotations

import pytest

from framework.dataplane import LinkKind
from framework.tests.dataplane.conftest import Talk
from framework.tests.dataplane.test_dialects import KINDS


@pytest.fixture
def talk() -> Talk:
    return Talk(kinds=KINDS)


def test_a_message_goes_where_its_prefix_says_whoever_is_interested(talk: Talk) -> None:
    gateway, route, other = talk.server(LinkKind.GATEWAY), talk.route(), talk.route()
    client = talk.client()
    client.say(b"SUB > 1\r\n")
    for peer in (gateway, route, other, client):
        peer.heard()
    talk.core.set_forward(b"_GR_.far.", gateway.link)
    talk.core.set_forward(b"_GR_.here.two.", other.link)
    talk.turn()
    # Twice, since a line that is repeated is not parsed.
    route.say(b"RMSG $G _GR_.far.x.r 1\r\n1\r\n" * 2 + b"RMSG $G _GR_.here.two.r 1\r\n2\r\n")

    assert b"RMSG $G _GR_.far.x.r 1\r\n1\r\n" * 2 == gateway.heard()
    assert b"RMSG $G _GR_.here.two.r 1\r\n2\r\n" == other.heard()
    assert b"" == client.heard() == route.heard()


def test_a_prefix_of_this_server_is_taken_off_before_the_match(talk: Talk) -> None:
    route, client = talk.route(), talk.client()
    client.say(b"SUB _INBOX.> 1\r\n")
    route.heard()
    talk.core.set_forward(b"_GR_.here.", route.link)
    talk.core.set_forward(b"_GR_.here.me.")
    talk.turn()
    route.say(b"RMSG $G _GR_.here.me._INBOX.a 1\r\n1\r\n" * 2)
    header = b"HMSG $G _GR_.here.me._INBOX.a 12 13\r\nNATS/1.0\r\n\r\nx\r\n"
    route.say(header)

    assert client.heard() == b"MSG _INBOX.a 1 1\r\n1\r\n" * 2 + (
        b"HMSG _INBOX.a 1 12 13\r\nNATS/1.0\r\n\r\nx\r\n"
    )
    assert b"" == route.heard()


def test_what_is_for_a_link_that_is_gone_is_lost(talk: Talk) -> None:
    gone, route, client = talk.route(), talk.route(), talk.client()
    client.say(b"SUB > 1\r\n")
    talk.core.set_forward(b"to.", gone.link)
    talk.turn()
    talk.core.hang_up(gone.link)
    talk.turn()
    client.heard()
    route.say(b"RMSG $G to.a 1\r\n1\r\n")

    assert b"" == client.heard()
    talk.core.remove_forward(b"to.")
    talk.core.remove_forward(b"never.")
    talk.turn()
    route.say(b"RMSG $G to.a 1\r\n2\r\n")

    assert b"MSG to.a 1 1\r\n2\r\n" == client.heard()


def test_nothing_goes_back_to_where_it_came_from(talk: Talk) -> None:
    route = talk.route()
    talk.core.set_forward(b"to.", route.link)
    talk.turn()

    assert b"" == route.ask(b"RMSG $G to.a 1\r\n1\r\n")


def test_users_are_matched_and_this_process_is_forwarded(talk: Talk) -> None:
    route, client = talk.route(), talk.client()
    client.say(b"SUB > 1\r\n")
    route.heard()
    client.heard()
    talk.core.set_forward(b"to.", route.link)
    talk.turn()
    client.say(b"PUB to.a 1\r\n1\r\n")
    talk.core.publish(0, [(b"to.b", b"", b"", b"2")])

    assert b"MSG to.a 1 1\r\n1\r\n" == client.heard()
    assert b"RMSG $G to.b 1\r\n2\r\n" == route.heard()


def test_there_is_room_for_some_and_none_for_nothing(talk: Talk) -> None:
    route, client = talk.route(), talk.client()
    for number in range(300):
        talk.core.set_forward(b"p%d." % number, route.link)
    talk.core.set_forward(b"p0.")
    talk.turn()
    client.say(b"SUB > 1\r\n")
    route.say(b"RMSG $G p0.a 1\r\n1\r\nRMSG $G p299.a 1\r\n2\r\n")

    assert b"MSG a 1 1\r\n1\r\nMSG p299.a 1 1\r\n2\r\n" == client.heard()
    with pytest.raises(ValueError, match="at least one byte"):
        talk.core.set_forward(b"")
