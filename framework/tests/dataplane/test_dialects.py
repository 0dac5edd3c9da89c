"""A dialect is a table of verbs: what links of a kind may say, and how they are told things."""

from __future__ import annotations

import pytest

from framework.dataplane import Core, LinkKind, PlaneLimits
from framework.dataplane.dialects import (
    CLIENT_DIALECT,
    GATEWAY_DIALECT,
    LEAF_DIALECT,
    Dialect,
    VerbOperation,
)
from framework.dataplane.kinds import KIND_TRAITS, KindTraits
from framework.dataplane.scopes import GroupClass, Scope
from framework.tests.dataplane.conftest import Talk

KINDS = {
    **KIND_TRAITS,
    LinkKind.GATEWAY: KindTraits(
        dialect=GATEWAY_DIALECT, scope=Scope.GATEWAY, group_class=GroupClass.NEAREST_IF_NONE
    ),
    LinkKind.LEAF: KindTraits(
        dialect=LEAF_DIALECT,
        scope=Scope.LEAF,
        other_scopes=frozenset({Scope.HUB}),
        group_class=GroupClass.IF_NONE,
        is_numbered=True,
    ),
}


@pytest.fixture
def talk() -> Talk:
    return Talk(kinds=KINDS)


def test_a_leaf_node_says_and_hears_interest_without_an_account(talk: Talk) -> None:
    leaf, client = talk.server(LinkKind.LEAF, accounts=[0]), talk.client()
    client.say(b"SUB a 1\r\nSUB b q 2\r\nSUB b q 3\r\n")

    assert b"LS+ a\r\nLS+ b q 1\r\nLS+ b q 2\r\n" == leaf.heard()
    leaf.say(b"LS+ c.*\r\nLS+ d g 2\r\nLMSG a 2\r\nhi\r\n")
    client.heard()
    client.say(b"PUB c.x reply 1\r\n1\r\nPUB d 1\r\n2\r\nUNSUB 1\r\n")
    expected = b"LMSG c.x reply 1\r\n1\r\nLMSG d | g 1\r\n2\r\nLS- a\r\n"

    assert expected == leaf.heard()


def test_a_leaf_node_is_delivered_to_with_and_without_headers(talk: Talk) -> None:
    leaf, client = talk.server(LinkKind.LEAF, accounts=[0]), talk.client()
    client.say(b"SUB a 1\r\nSUB a q 2\r\n")
    leaf.say(b"LMSG a 2\r\nhi\r\nHMSG a + r q 12 14\r\nNATS/1.0\r\n\r\nhi\r\n")
    header = b"12 14\r\nNATS/1.0\r\n\r\nhi\r\n"

    expected = b"MSG a 1 2\r\nhi\r\nHMSG a 1 r " + header + b"HMSG a 2 r " + header
    assert expected == client.heard()
    leaf.heard()
    leaf.say(b"LS- nobody\r\nLS+ e\r\nls- e\r\n")
    client.say(b"PUB e 1\r\nx\r\n")

    assert b"" == leaf.heard()


def test_a_leaf_node_carries_one_account(talk: Talk) -> None:
    leaf = talk.server(LinkKind.LEAF, registered=False)
    talk.core.register_peer(leaf.link)
    talk.turn()

    assert not [row for row in talk.links() if row.link == leaf.link]


def test_a_gateway_always_names_the_account_and_tells_groups_once(talk: Talk) -> None:
    gateway, client = talk.server(LinkKind.GATEWAY, accounts=[0]), talk.client()
    client.say(b"SUB a 1\r\nSUB b q 2\r\nSUB b q 3\r\nUNSUB 2\r\nUNSUB 3\r\n")

    assert b"RS+ $G a\r\nRS+ $G b q 1\r\nRS- $G b q\r\n" == gateway.heard()
    gateway.say(b"RS+ $G c\r\n")
    client.say(b"PUB c 1\r\nx\r\n")

    assert b"RMSG $G c 1\r\nx\r\n" == gateway.heard()


def test_a_gateway_may_want_all_of_an_account_or_nothing(talk: Talk) -> None:
    gateway, client = talk.server(LinkKind.GATEWAY), talk.client()
    gateway.say(b"A- $G\r\nA+ $G\r\nRS+ $G a\r\n")
    client.say(b"PUB a 1\r\n1\r\nPUB b 1\r\n2\r\n")

    assert b"RMSG $G a 1\r\n1\r\nRMSG $G b 1\r\n2\r\n" == gateway.heard()
    gateway.say(b"A- $G\r\n")
    client.say(b"PUB a 1\r\n3\r\n")

    assert b"" == gateway.heard()


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        (LinkKind.CLIENT, b"RMSG $G a 1\r\n"),
        (LinkKind.ROUTE, b"PUB a 1\r\n"),
        (LinkKind.ROUTE, b"LS+ a\r\n"),
        (LinkKind.LEAF, b"RS+ $G a\r\n"),
        (LinkKind.LEAF, b"A+ $G\r\n"),
        (LinkKind.GATEWAY, b"LMSG a 1\r\n"),
        (LinkKind.GATEWAY, b"SUB a 1\r\n"),
        (LinkKind.GATEWAY, b"A+ two words\r\n"),
    ],
)
def test_verbs_of_other_dialects_are_refused(talk: Talk, kind: LinkKind, line: bytes) -> None:
    far = talk.client() if kind is LinkKind.CLIENT else talk.server(kind, accounts=[0])
    for length in range(1, 4):
        near = talk.client() if kind is LinkKind.CLIENT else talk.server(kind, accounts=[0])
        near.say(line[:length])

    assert b"-ERR 'Unknown Protocol Operation'\r\n" == far.ask(line)


def test_a_third_dialect_is_a_row() -> None:
    spoken = Dialect(verbs={b"SEND": VerbOperation.PUBLISH, b"WANT+": VerbOperation.SUBSCRIBE})
    kind = KindTraits(dialect=spoken, is_user=True, may_be_anonymous=True)
    talk = Talk(kinds={**KIND_TRAITS, LinkKind.LEAF: kind})
    far = talk.core.open(LinkKind.LEAF, "127.0.0.1", 1, accepted=True)
    talk.core.feed(far, b"want+ a 1\r\nSend a 2\r\nhi\r\n", 0)
    talk.turn()

    assert talk.core.take_output(far).endswith(b"MSG a 1 2\r\nhi\r\n")


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"verbs": {b"TOOLONGX": VerbOperation.PUBLISH}}, "up to five more"),
        ({"verbs": {b"+A": VerbOperation.PUBLISH}}, "capital letter"),
        ({"verbs": {b"V%d" % it: VerbOperation.IGNORE for it in range(13)}}, "at most 12 verbs"),
        ({"verbs": {}, "message": b"MESSAGE"}, "4 letters"),
        ({"verbs": {}, "no_interest": b"R-"}, "3 letters"),
    ],
)
def test_a_dialect_that_cannot_be_is_refused(changed: dict[str, object], why: str) -> None:
    row = KindTraits(dialect=Dialect(**changed))  # type: ignore[arg-type]

    with pytest.raises(ValueError, match=why):
        Core(PlaneLimits(), kinds={LinkKind.LEAF: row})


def test_a_kind_without_a_row_is_refused() -> None:
    core = Core(PlaneLimits(), kinds={LinkKind.CLIENT: KindTraits(dialect=CLIENT_DIALECT)})

    with pytest.raises(ValueError, match="no links of kind"):
        core.open(LinkKind.ROUTE, "127.0.0.1", 1, accepted=True)


def test_who_may_tell_no_interest_by_a_link_is_refused(talk: Talk) -> None:
    for line in (b"RS+ $G a\r\n", b"RS- $G a\r\n", b"A+ $G\r\n"):
        gateway, client = talk.server(LinkKind.GATEWAY, tells_interest=False), talk.client()
        gateway.say(line)
        client.say(b"PUB a 1\r\n1\r\n")

        assert b"RMSG" not in gateway.heard()
        assert gateway.link not in {row.link for row in talk.links()}
