"""Replies that end in `@subject`: users are shown that subject, other servers all of it."""

from __future__ import annotations

import pytest

from framework.dataplane import Delivered, LinkKind
from framework.tests.dataplane.conftest import Talk
from framework.tests.dataplane.test_dialects import KINDS

ACK = b"$JS.ACK.S.c.1.1.1.1700000000000000000.0"


@pytest.fixture
def talk() -> Talk:
    return Talk(kinds=KINDS)


def test_a_client_is_shown_the_subject_behind_the_reply(talk: Talk) -> None:
    route, client = talk.route(), talk.client()
    client.say(b"SUB _INBOX.> 1\r\n")
    route.say(b"RMSG $G _INBOX.d %s@orders.0 2\r\nhi\r\n" % ACK)
    route.say(b"HMSG $G _INBOX.d %s@a@b 12 14\r\nNATS/1.0\r\n\r\nhi\r\n" % ACK)

    assert (
        b"MSG orders.0 1 %s 2\r\nhi\r\nHMSG a@b 1 %s 12 14\r\nNATS/1.0\r\n\r\nhi\r\n" % (ACK, ACK)
        == client.heard()
    )


@pytest.mark.parametrize("reply", [ACK, b"reply@subject", b"$JS.ACK.S@x.c.1", b"$JS.ACKS." + ACK])
def test_other_replies_are_left_alone(talk: Talk, reply: bytes) -> None:
    route, client = talk.route(), talk.client()
    client.say(b"SUB d 1\r\n")
    route.say(b"RMSG $G d %s 2\r\nhi\r\n" % reply)

    assert b"MSG d 1 %s 2\r\nhi\r\n" % reply == client.heard()


def test_a_sink_is_shown_it_too(talk: Talk) -> None:
    talk.core.subscribe_sink(0, b"d")
    route = talk.route()
    route.say(b"RMSG $G d %s@orders.0 2\r\nhi\r\n" % ACK)
    (delivered,) = talk.of(Delivered)

    assert [(b"orders.0", ACK, b"", b"hi")] == delivered.batch.detach()


def test_a_server_behind_this_one_gets_it_as_it_came(talk: Talk) -> None:
    route, leaf = talk.route(), talk.server(LinkKind.LEAF, accounts=[0])
    leaf.say(b"LS+ d\r\nLS+ d q 1\r\n")
    leaf.heard()
    route.say(b"RMSG $G d + %s@orders.0 q 2\r\nhi\r\n" % ACK)

    assert b"LMSG d + %s@orders.0 q 2\r\nhi\r\n" % ACK == leaf.heard()


def test_what_a_client_says_is_shown_as_it_says_it(talk: Talk) -> None:
    client = talk.client(no_responders=False)
    client.say(b"SUB d 1\r\nPUB d r@x 2\r\nhi\r\n")

    assert b"MSG d 1 r@x 2\r\nhi\r\n" == client.heard()
