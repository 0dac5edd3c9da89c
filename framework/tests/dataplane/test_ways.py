"""Answers by address: replies with the address of the server that asked, which users do not see."""

from __future__ import annotations

import pytest

from framework.dataplane import LinkKind
from framework.dataplane.reserved import RESERVED_PREFIXES, ReservedPrefix
from framework.tests.dataplane.conftest import Talk
from framework.tests.dataplane.test_dialects import KINDS

HIDDEN = ReservedPrefix(prefix=b"_GR_.", hidden_tokens=2)


@pytest.fixture
def talk() -> Talk:
    return Talk(kinds=KINDS, reserved=(*RESERVED_PREFIXES, HIDDEN))


def test_a_request_takes_the_address_of_who_waits_for_an_answer_here(talk: Talk) -> None:
    gateway = talk.server(LinkKind.GATEWAY, accounts=[], address=b"_GR_.near.me.")
    client = talk.client()
    client.say(b"SUB _INBOX.* 1\r\n")
    gateway.say(b"RS+ $G a\r\nRS+ $G b g 1\r\nRS+ $G _INBOX.far\r\n")
    client.say(b"PUB a _INBOX.x 1\r\n1\r\nPUB b _INBOX.x 1\r\n2\r\nPUB a elsewhere 1\r\n3\r\n")

    assert gateway.heard() == (
        b"RMSG $G a _GR_.near.me._INBOX.x 1\r\n1\r\n"
        b"RMSG $G b + _GR_.near.me._INBOX.x g 1\r\n2\r\n"
        b"RMSG $G a elsewhere 1\r\n3\r\n"
    )


def test_interest_of_others_is_no_reason_for_an_address(talk: Talk) -> None:
    gateway = talk.server(LinkKind.GATEWAY, accounts=[], address=b"_GR_.near.me.")
    route, client = talk.route(), talk.client()
    route.say(b"RS+ $G _INBOX.x\r\n")
    gateway.say(b"RS+ $G a\r\n")
    client.say(b"PUB a _INBOX.x 1\r\n1\r\n")

    assert gateway.heard() == b"RMSG $G a _INBOX.x 1\r\n1\r\n"


def test_users_see_no_address_and_answer_to_it_for_a_while(talk: Talk) -> None:
    inbound, out = talk.server(LinkKind.GATEWAY), talk.server(LinkKind.GATEWAY, accounts=[])
    client, other = talk.client(), talk.client()
    talk.core.set_forward(b"_GR_.far.", out.link)
    client.say(b"SUB a 1\r\n")
    inbound.say(b"RMSG $G a _GR_.far.you._INBOX.x 1\r\n1\r\n")

    assert client.heard() == b"MSG a 1 _INBOX.x 1\r\n1\r\n"
    other.say(b"PUB _INBOX.x 1\r\n2\r\n")
    client.say(b"PUB _INBOX.x 1\r\n3\r\n" * 2 + b"PUB _INBOX.y 1\r\n4\r\n")

    assert out.heard() == b"RMSG $G _GR_.far.you._INBOX.x 1\r\n3\r\n" * 2
    talk.turn(2.0)
    client.say(b"PUB _INBOX.x 1\r\n5\r\n")

    assert b"RMSG" not in out.heard()


def test_a_line_said_before_is_an_answer_when_it_is_said_again(talk: Talk) -> None:
    inbound, out = talk.server(LinkKind.GATEWAY), talk.server(LinkKind.GATEWAY, accounts=[])
    client = talk.client()
    talk.core.set_forward(b"_GR_.far.", out.link)
    client.say(b"SUB a 1\r\n" + b"PUB x 1\r\n1\r\n" * 3)
    inbound.say(b"RMSG $G a _GR_.far.you.x 1\r\n1\r\n")
    client.say(b"PUB x 1\r\n2\r\n" * 2)

    assert out.heard() == b"RMSG $G _GR_.far.you.x 1\r\n2\r\n" * 2


def test_an_answer_to_a_cluster_that_is_gone_goes_to_who_is_interested(talk: Talk) -> None:
    inbound, client = talk.server(LinkKind.GATEWAY), talk.client()
    client.say(b"SUB a 1\r\nSUB _INBOX.x 2\r\n")
    inbound.say(b"RMSG $G a _GR_.far.you._INBOX.x 1\r\n1\r\n")
    client.heard()
    client.say(b"PUB _INBOX.x 1\r\n2\r\n")

    assert client.heard() == b"MSG _INBOX.x 2 1\r\n2\r\n"


def test_an_answer_goes_to_a_peer_that_leads_on_what_begins_with_an_address(talk: Talk) -> None:
    peer, client = talk.server(LinkKind.GATEWAY, accounts=[]), talk.client()
    peer.say(b"RS+ $G _GR_.>\r\n")
    everything = talk.client()
    everything.say(b"SUB > 1\r\n")
    client.say(b"SUB a 1\r\n")
    peer.say(b"RMSG $G a _GR_.far.you._INBOX.x 1\r\n1\r\n")
    assert client.heard() == b"MSG a 1 _INBOX.x 1\r\n1\r\n"
    peer.heard(), everything.heard()
    client.say(b"PUB _INBOX.x 1\r\n2\r\n")

    assert peer.heard() == b"RMSG $G _GR_.far.you._INBOX.x 1\r\n2\r\n"
    assert everything.heard() == b"MSG _INBOX.x 1 1\r\n2\r\n"


def test_an_answer_at_its_server_begins_there_anew(talk: Talk) -> None:
    inbound, out = talk.server(LinkKind.GATEWAY), talk.server(LinkKind.GATEWAY, accounts=[])
    route, client = talk.route(), talk.client()
    talk.core.set_forward(b"_GR_.near.me.")
    client.say(b"SUB _INBOX.x 1\r\n")
    out.say(b"RS+ $G _INBOX.*\r\n")
    route.say(b"RS+ $G _INBOX.>\r\n")
    route.heard()
    inbound.say(b"RMSG $G _GR_.near.me._INBOX.x 1\r\n1\r\n")

    assert client.heard() == b"MSG _INBOX.x 1 1\r\n1\r\n"
    assert route.heard() == b"RMSG $G _INBOX.x 1\r\n1\r\n"
    assert out.heard() == b"RMSG $G _INBOX.x 1\r\n1\r\n"


def test_no_address_is_put_before_another(talk: Talk) -> None:
    inbound = talk.server(LinkKind.GATEWAY)
    out = talk.server(LinkKind.GATEWAY, accounts=[], address=b"_GR_.near.me.")
    client = talk.client()
    talk.core.set_forward(b"_GR_.near.me.")
    client.say(b"SUB > 1\r\n")
    out.say(b"RS+ $G x\r\n")
    inbound.say(b"RMSG $G _GR_.near.me.x _GR_.far.you.y 1\r\n1\r\n")

    assert out.heard() == b"RMSG $G x _GR_.far.you.y 1\r\n1\r\n"
    assert client.heard() == b"MSG x 1 y 1\r\n1\r\n"


@pytest.mark.parametrize(
    "reply", [b"_GR_.", b"_GR_.far", b"_GR_.far.", b"_GR_.far.you.", b"_GR_.x.y"]
)
def test_what_is_no_whole_address_is_shown(talk: Talk, reply: bytes) -> None:
    inbound, client = talk.server(LinkKind.GATEWAY), talk.client()
    client.say(b"SUB a 1\r\n")
    inbound.say(b"RMSG $G a %s 1\r\n1\r\n" % reply)

    assert client.heard() == b"MSG a 1 %s 1\r\n1\r\n" % reply


def test_who_may_answer_only_what_it_was_asked_may_answer_without_the_address(talk: Talk) -> None:
    inbound, client = talk.server(LinkKind.GATEWAY), talk.client()
    client.say(b"SUB a 1\r\n")
    client.say(b"PUB _GR_.far.you.x 1\r\n1\r\n")

    assert b"Permissions Violation" in client.heard()
    inbound.say(b"RMSG $G a _GR_.%s.you.x 1\r\n1\r\n" % (b"f" * 100))

    assert b"_GR_." in client.heard()


def test_interest_of_an_account_stands_between_its_marks(talk: Talk) -> None:
    client = talk.client()
    client.say(b"SUB a 1\r\n")
    marks = b"BEGIN \0\r\n", b"\0 END\r\n"
    gateway = talk.server(LinkKind.GATEWAY, marks=marks)

    assert b"BEGIN JEc=\r\nRS+ $G a\r\nJEc= END\r\n" in gateway.heard()
    for name, encoded in ((b"A", b"QQ=="), (b"AB", b"QUI="), (b"ABC", b"QUJD")):
        account = talk.core.add_account(name)
        talk.turn()

        assert b"BEGIN %s\r\n%s END\r\n" % (encoded, encoded) in gateway.heard()
        other = talk.client(account=account)
        other.say(b"SUB b 1\r\n")

        assert b"RS+ %s b\r\n" % name == gateway.heard()


@pytest.mark.parametrize("kind", [LinkKind.GATEWAY, LinkKind.ROUTE])
def test_an_address_that_leads_nowhere_is_no_subject(talk: Talk, kind: LinkKind) -> None:
    peer, client = talk.server(kind), talk.client()
    talk.core.set_forward(b"_GR_.near.me.")
    client.say(b"SUB > 1\r\n")
    client.heard()
    peer.say(b"RMSG $G _GR_.far.you.x 1\r\n1\r\n" * 2)
    assert client.heard() == b""

    peer.say(b"RMSG $G _GR_.near.me.x 1\r\n1\r\nRMSG $G _GR_ 1\r\n2\r\n")
    assert client.heard() == b"MSG x 1 1\r\n1\r\nMSG _GR_ 1 1\r\n2\r\n"


@pytest.mark.parametrize("subject", [b"_GR_.x", b"_GR_.far.x"])
def test_what_is_not_all_of_an_address_is_a_subject(talk: Talk, subject: bytes) -> None:
    peer, client = talk.server(LinkKind.GATEWAY), talk.client()
    client.say(b"SUB > 1\r\n")
    client.heard()
    peer.say(b"RMSG $G %s 1\r\n1\r\n" % subject)

    assert client.heard() == b"MSG %s 1 1\r\n1\r\n" % subject
