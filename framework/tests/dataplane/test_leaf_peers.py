"""Links to leaf nodes and hubs: guards, loops, isolation, what is told of imports."""

from __future__ import annotations

import pytest

from framework.dataplane import Closed, LinkKind, Opened, PeerGuard, Violated
from framework.dataplane.permissions import Permissions, ResponsePermission, SubjectRules
from framework.dataplane.scopes import Scope
from framework.dataplane.tables import (
    AccountTables,
    MappedDestination,
    ServiceImportRow,
    StreamImportRow,
    SubjectMapping,
)
from framework.tests.dataplane.conftest import Peer, Talk
from framework.tests.dataplane.test_dialects import KINDS
from framework.wire.closed_state import ClosedState

RULES = Permissions(
    publish=SubjectRules(allow=("in.a", "in.b.>"), deny=("in.b.secret",)),
    subscribe=SubjectRules(allow=("out.a", "out.b.>"), deny=("out.b.secret",)),
)


@pytest.fixture
def talk() -> Talk:
    return Talk(kinds=KINDS)


def guarded(talk: Talk, guard: PeerGuard, permissions: Permissions = RULES) -> Peer:
    number = talk.core.add_permissions(permissions)
    return talk.server(LinkKind.LEAF, accounts=[0], permissions=number, guard=guard)


@pytest.mark.parametrize("guard", [PeerGuard.DROPS, PeerGuard.ENDS])
def test_interest_is_told_where_it_is_allowed_in_part(talk: Talk, guard: PeerGuard) -> None:
    leaf, client = guarded(talk, guard), talk.client()
    subjects = (b"in.a", b"in.*", b"in.b.x", b">", b"other", b"other.>", b"in.b.secret")
    client.say(b"".join(b"SUB %b %b\r\n" % (it, it) for it in subjects))
    told = [line.split()[1] for line in leaf.heard().splitlines()]

    assert [b"in.a", b"in.*", b"in.b.x", b">"] == told


@pytest.mark.parametrize("guard", [PeerGuard.DROPS, PeerGuard.ENDS])
def test_each_message_to_it_must_be_allowed(talk: Talk, guard: PeerGuard) -> None:
    leaf, client = guarded(talk, guard), talk.client()
    leaf.say(b"LS+ out.*\r\nLS+ >\r\nLS+ out.b.> q 1\r\n")
    leaf.heard()
    for subject in (b"out.a", b"out.c", b"out.b.x", b"out.b.secret", b"x"):
        # Twice: as it is parsed, and as a line that is repeated.
        client.say(b"PUB %b 1\r\n.\r\n" % subject * 2)
    got = [line.split()[1] for line in leaf.heard().splitlines() if line.startswith(b"LMSG")]

    assert [b"out.a", b"out.a", b"out.b.x", b"out.b.x"] == got


def test_what_a_hub_may_not_send_is_dropped(talk: Talk) -> None:
    hub, client = guarded(talk, PeerGuard.DROPS), talk.client()
    client.say(b"SUB > 1\r\n")
    hub.say(b"LS+ other\r\nLMSG in.a 1\r\n1\r\nLMSG in.b.secret 1\r\n2\r\nLMSG other 1\r\n3\r\n")

    assert b"MSG in.a 1 1\r\n1\r\n" == client.heard()
    assert [] == talk.of(Closed)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"LMSG other 1\r\n1\r\n", 'Publish to "other"'),
        (b"LMSG in.b.secret 1\r\n1\r\n", 'Publish to "in.b.secret"'),
        (b"LS+ other\r\n", 'Subscription to "other"'),
    ],
)
def test_a_leaf_node_that_says_what_it_may_not_is_told_and_closed(
    talk: Talk, line: bytes, words: str
) -> None:
    leaf = guarded(talk, PeerGuard.ENDS)
    leaf.say(line)

    assert f"-ERR 'Permissions Violation for {words}'\r\n".encode() == leaf.heard()
    assert [ClosedState.PROTOCOL_VIOLATION] == [it.reason for it in talk.of(Closed)]
    assert [LinkKind.LEAF] == [it.kind for it in talk.of(Violated)]


def test_a_leaf_node_may_answer_what_it_was_asked(talk: Talk) -> None:
    rules = Permissions(responses=ResponsePermission(max_msgs=1))
    leaf, client = guarded(talk, PeerGuard.ENDS, rules), talk.client()
    leaf.say(b"LS+ ask\r\n")
    client.say(b"SUB inbox 1\r\nPUB ask inbox 1\r\n?\r\n")
    leaf.heard()
    leaf.say(b"LMSG inbox 1\r\n!\r\n")

    assert b"MSG inbox 1 1\r\n!\r\n" == client.heard()
    leaf.say(b"LMSG inbox 1\r\n!\r\n")
    assert b"-ERR 'Permissions Violation for Publish to \"inbox\"'\r\n" == leaf.heard()


def test_interest_that_leads_back_here_ends_the_link(talk: Talk) -> None:
    leaf = talk.server(LinkKind.LEAF, accounts=[0], loop=(b"$LDS.x", b"a loop, 'said' so"))
    leaf.say(b"LS+ $LDS.xy\r\nLS+ $LDS\r\nLS+ $LDS.x\r\n")

    assert b"-ERR 'a loop, 'said' so'\r\n" == leaf.heard()
    assert ["a loop, 'said' so"] == [it.detail for it in talk.of(Closed)]


def test_an_isolated_leaf_node_is_told_nothing_of_others(talk: Talk) -> None:
    untold = frozenset({Scope.LEAF, Scope.HUB})
    isolated = talk.server(LinkKind.LEAF, accounts=[0], untold=untold)
    other, client = talk.server(LinkKind.LEAF, accounts=[0]), talk.client()
    other.say(b"LS+ a\r\nLS+ b\r\n")
    client.say(b"SUB b 1\r\nSUB c 2\r\n")

    assert b"LS+ b\r\nLS+ c\r\n" == isolated.heard()
    isolated.say(b"LMSG a 1\r\nx\r\n")
    assert b"LMSG a 1\r\nx\r\n" == other.heard()[-len(b"LMSG a 1\r\nx\r\n") :]


@pytest.mark.parametrize("scope", [Scope.LEAF, Scope.HUB])
def test_leaf_nodes_and_hubs_are_told_of_imports_and_mappings(talk: Talk, scope: Scope) -> None:
    exporter = talk.core.add_account(b"E")
    tables = AccountTables(
        mappings=(SubjectMapping(source="from.*", destinations=()),),
        service_imports=(ServiceImportRow(account=exporter, subject="serve", to="ask"),),
    )
    talk.core.set_account_tables(0, tables)
    early = talk.server(LinkKind.LEAF, accounts=[0], scope=scope)
    route = talk.route()
    assert {b"LS+ ask", b"LS+ from.*", b""} == set(early.heard().split(b"\r\n"))

    talk.core.set_account_tables(0, AccountTables(mappings=tables.mappings))
    talk.turn()
    assert b"LS- ask\r\n" == early.heard()
    talk.core.set_account_tables(0, AccountTables())
    talk.turn()
    assert b"LS- from.*\r\n" == early.heard()
    assert b"" == route.heard()


def test_what_a_leaf_node_publishes_is_mapped(talk: Talk) -> None:
    leaf, client = talk.server(LinkKind.LEAF, accounts=[0]), talk.client()
    mapping = SubjectMapping(source="from.*", destinations=(MappedDestination(subject="to.$1"),))
    talk.core.set_account_tables(0, AccountTables(mappings=(mapping,)))
    client.say(b"SUB > 1\r\n")
    leaf.say(b"LMSG from.a 1\r\nx\r\n" * 2)

    assert b"MSG to.a 1 1\r\nx\r\n" * 2 == client.heard()


def test_info_says_the_number_of_the_connection_and_a_nonce(talk: Talk) -> None:
    talk.core.set_info(LinkKind.LEAF, b'{"a":1}')
    talk.core.set_nonces(LinkKind.LEAF, on=True)
    talk.turn()
    leaf = talk.server(LinkKind.LEAF, registered=False)
    talk.turn()
    opened = talk.of(Opened)[-1]

    expected = b'INFO {"a":1,"client_id":%d,"nonce":"%b"} \r\n' % (opened.cid, opened.nonce)
    assert expected == leaf.heard()


def imported(talk: Talk) -> int:
    """Let `$G` import a stream of another account; return its number."""
    exporter = talk.core.add_account(b"E")
    talk.core.set_account_tables(
        0,
        AccountTables(stream_imports=(StreamImportRow(account=exporter, subject="out.>", to=""),)),
    )
    talk.turn()
    return exporter


@pytest.mark.parametrize("scope", [Scope.LEAF, Scope.HUB])
def test_interest_of_leaf_nodes_and_hubs_passes_imports_of_streams(
    talk: Talk, scope: Scope
) -> None:
    exporter = imported(talk)
    peer = talk.server(LinkKind.LEAF, accounts=[0], scope=scope)
    publisher = talk.client(account=exporter)
    peer.say(b"LS+ out.a\r\nLS+ out.*\r\nLS+ other\r\n")
    peer.heard()
    publisher.say(b"PUB out.a 1\r\nx\r\nPUB other 1\r\nx\r\n")

    assert b"LMSG out.a 1\r\nx\r\n" == peer.heard()
    peer.say(b"LS+ out.b.> q 2\r\n")
    publisher.say(b"PUB out.b.c 1\r\nx\r\n")
    assert b"LMSG out.b.c | q 1\r\nx\r\n" == peer.heard()
    peer.say(b"LS- out.a\r\n")
    publisher.say(b"PUB out.a r 1\r\nx\r\n" * 2)
    assert b"LMSG out.a r 1\r\nx\r\n" * 2 == peer.heard()
    peer.say(b"LS- out.*\r\n")
    publisher.say(b"PUB out.a 1\r\nx\r\n")
    assert b"" == peer.heard()


def test_interest_of_leaf_nodes_follows_other_imports(talk: Talk) -> None:
    exporter = imported(talk)
    leaf, route = talk.server(LinkKind.LEAF, accounts=[0]), talk.route()
    leaf.say(b"LS+ in.>\r\n")
    publisher = talk.client(account=exporter)
    route.heard()
    row = StreamImportRow(account=exporter, subject="out.>", to="in.>")
    talk.core.set_account_tables(0, AccountTables(stream_imports=(row,)))
    talk.turn()
    assert b"RS+ E out.>\r\n" == route.heard()
    publisher.say(b"PUB out.a 1\r\nx\r\n")

    assert b"LMSG in.a 1\r\nx\r\n" == leaf.heard()
    talk.core.set_account_tables(0, AccountTables())
    talk.turn()
    assert b"RS- E out.>\r\n" == route.heard()


def test_groups_of_a_leaf_node_that_hears_plainly_by_an_import_are_served_too(talk: Talk) -> None:
    exporter = imported(talk)
    one, other = (talk.server(LinkKind.LEAF, accounts=[0]) for _ in range(2))
    publisher = talk.client(account=exporter)
    one.say(b"LS+ out.a\r\nLS+ out.* q 1\r\nLS+ out.> r 1\r\n")
    other.say(b"LS+ out.a\r\n")
    one.heard()
    other.heard()
    publisher.say(b"PUB out.a 1\r\nx\r\n" * 2 + b"PUB out.b back 1\r\ny\r\n")

    names = {b"| q r", b"| r q"}
    first, *_ = said = one.heard().split(b"\r\n")
    assert first.removeprefix(b"LMSG out.a ").removesuffix(b" 1") in names
    assert [b"x", b"x"] == [said[1], said[3]]
    assert said[4].removeprefix(b"LMSG out.b ").removesuffix(b" 1") in {
        b"+ back q r",
        b"+ back r q",
    }
    assert 7 == len(said)
    assert b"LMSG out.a 1\r\nx\r\n" * 2 == other.heard()
