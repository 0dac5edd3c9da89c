"""Streams of one account for clients of another: shadows of subscriptions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.dataplane import Delivered
from framework.dataplane.port import Outgoing
from framework.dataplane.tables import AccountTables, ServiceImportRow, StreamImportRow
from framework.sublist import BadTransform
from framework.tests.dataplane.conftest import Talk

if TYPE_CHECKING:
    from framework.tests.dataplane.conftest import Peer

A, B, C = 1, 2, 3
"""Accounts; A imports of B in most tests."""


@pytest.fixture
def talk(talk: Talk) -> Talk:
    return _prepared(talk)


def _prepared(talk: Talk) -> Talk:
    assert [A, B, C] == [talk.core.add_account(name) for name in (b"A", b"B", b"C")]
    talk.turn()
    return talk


def _put(talk: Talk, *imports: StreamImportRow, account: int = A, **others: Any) -> None:
    talk.core.set_account_tables(account, AccountTables(stream_imports=imports, **others))
    talk.turn()


def _import(subject: str, to: str = "", account: int = B) -> StreamImportRow:
    return StreamImportRow(account=account, subject=subject, to=to)


def _subscriber(talk: Talk, *lines: bytes, **options: Any) -> Peer:
    peer = talk.client(account=A, **options)
    peer.say(b"".join(b"SUB %b\r\n" % line for line in lines))
    return peer


def _publish(talk: Talk, *subjects: bytes, account: int = B) -> None:
    peer = talk.client(account=account)
    peer.say(b"".join(b"PUB %b 1\r\nx\r\n" % subject for subject in subjects))


def _subjects(heard: bytes) -> list[bytes]:
    return re.findall(rb"MSG (\S+) ", heard)


@pytest.mark.parametrize(
    ("subject", "to", "subscribed", "published", "seen"),
    [
        ("s.a", "", b"s.a", b"s.a", b"s.a"),
        ("s.a", "mine", b"mine", b"s.a", b"mine"),
        ("s.a", "mine.a", b"mine.*", b"s.a", b"mine.a"),
        ("s.*", "", b"s.*", b"s.a", b"s.a"),
        ("s.*", "", b"s.a", b"s.a", b"s.a"),
        ("s.*", "", b">", b"s.a", b"s.a"),
        ("s.>", "p.s.>", b"p.s.>", b"s.a.b", b"p.s.a.b"),
        ("s.>", "p.s.>", b"p.s.a.*", b"s.a.b", b"p.s.a.b"),
        ("s.>", "p.s.>", b"p.>", b"s.a.b", b"p.s.a.b"),
        ("s.>", "p.s.>", b"*.s.*.b", b"s.a.b", b"p.s.a.b"),
        ("s.>", "p.s.>", b"*.*.a.>", b"s.a.b", b"p.s.a.b"),
        ("s.>", "s.>", b"*.a.>", b"s.a.b", b"s.a.b"),
        ("s.*.*", "p.$2.$1", b"p.b.a", b"s.a.b", b"p.b.a"),
        ("s.*.*", "p.$2.$1", b"p.b.*", b"s.a.b", b"p.b.a"),
        ("s.*.*", "p.$2.$1", b"*.*.a", b"s.a.b", b"p.b.a"),
        ("s.*.x", "p.*", b"p.>", b"s.a.x", b"p.a"),
        ("s.*", "p.q.*", b"p.*.a", b"s.a", b"p.q.a"),
    ],
)
def test_a_subscription_that_overlaps_an_import_gets_its_messages(  # noqa: PLR0917 - a table
    talk: Talk, subject: str, to: str, subscribed: bytes, published: bytes, seen: bytes
) -> None:
    _put(talk, _import(subject, to))
    subscriber = _subscriber(talk, subscribed + b" 7")
    _publish(talk, published)

    assert b"MSG %b 7 1\r\nx\r\n" % seen == subscriber.heard()


@pytest.mark.parametrize(
    ("subject", "to", "subscribed", "published"),
    [
        ("s.*", "p.*", b"s.a", b"s.a"),
        ("s.*", "p.*", b"p.a", b"s.b"),
        ("s.*", "p.*", b"p.a", b"p.a"),
        ("s.*", "p.*", b"p.a.*", b"s.a"),
        ("s.a", "", b"s.b", b"s.a"),
        ("s.a.b", "p.a.b", b"p.*.c", b"s.a.b"),
        ("s.>", "p.s.>", b"p.*.a", b"s.a.b"),
        ("s.>", "p.s.>", b"*.q.>", b"s.a"),
    ],
)
def test_others_get_nothing(
    talk: Talk, subject: str, to: str, subscribed: bytes, published: bytes
) -> None:
    _put(talk, _import(subject, to))
    subscriber = _subscriber(talk, subscribed + b" 7")
    _publish(talk, published)

    assert b"" == subscriber.heard()


TOKENS = st.sampled_from(["a", "b", "s", "*"])
SUBJECTS = st.tuples(st.lists(TOKENS, min_size=1, max_size=3), st.booleans()).map(
    lambda drawn: ".".join([*drawn[0], *([">"] if drawn[1] else [])])
)


def _holds(pattern: str, subject: str) -> bool:
    parts = [
        r"[^.]+" if t == "*" else ".+" if t == ">" else re.escape(t) for t in pattern.split(".")
    ]
    return re.fullmatch(r"\.".join(parts), subject) is not None


@given(
    exported=SUBJECTS,
    prefix=st.sampled_from(["", "p.", "s."]),
    subscribed=SUBJECTS,
    published=st.lists(st.sampled_from("abs"), min_size=1, max_size=4).map(".".join),
)
def test_a_message_comes_when_the_import_and_the_subscription_hold_it(
    exported: str, prefix: str, subscribed: str, published: str
) -> None:
    talk = _prepared(Talk())
    _put(talk, _import(exported, prefix + exported))
    subscriber = _subscriber(talk, subscribed.encode() + b" 7")
    _publish(talk, published.encode())
    seen = prefix + published
    expected = [seen.encode()] * (_holds(exported, published) and _holds(subscribed, seen))

    assert expected == _subjects(subscriber.heard())


def test_what_the_account_has_itself_comes_too(talk: Talk) -> None:
    _put(talk, _import("s.*"))
    subscriber = _subscriber(talk, b"s.* 7")
    _publish(talk, b"s.near", account=A)
    _publish(talk, b"s.far")

    assert [b"s.near", b"s.far"] == _subjects(subscriber.heard())


def test_imports_from_two_accounts_come_together(talk: Talk) -> None:
    _put(talk, _import("s.*"), _import("t", "s.t", C))
    subscriber = _subscriber(talk, b"s.> 7")
    _publish(talk, b"s.b")
    _publish(talk, b"t", account=C)

    assert [b"s.b", b"s.t"] == _subjects(subscriber.heard())


def test_headers_and_replies_come_along(talk: Talk) -> None:
    _put(talk, _import("s"))
    subscriber = _subscriber(talk, b"s 7")
    talk.client(account=B).say(b"HPUB s back 12 14\r\nNATS/1.0\r\n\r\nhi\r\n")

    assert b"HMSG s 7 back 12 14\r\nNATS/1.0\r\n\r\nhi\r\n" == subscriber.heard()


def test_one_member_of_a_group_gets_a_message(talk: Talk) -> None:
    _put(talk, _import("s.*"))
    members = [_subscriber(talk, b"s.* workers 7") for _ in range(2)]
    _publish(talk, *[b"s.a"] * 200)
    counts = [len(_subjects(member.heard())) for member in members]

    assert 200 == sum(counts)
    assert all(count > 50 for count in counts)


def test_a_maximum_counts_messages_of_all_accounts(talk: Talk) -> None:
    _put(talk, _import("s.*"))
    subscriber = _subscriber(talk, b"s.* 7")
    subscriber.say(b"UNSUB 7 3\r\n")
    _publish(talk, b"s.1")
    _publish(talk, b"s.2", account=A)
    _publish(talk, b"s.3", b"s.4")
    _publish(talk, b"s.5", account=A)

    assert [b"s.1", b"s.2", b"s.3"] == _subjects(subscriber.heard())


def test_a_shadow_ends_with_its_subscription(talk: Talk) -> None:
    _put(talk, _import("s.*"))
    subscriber = _subscriber(talk, b"s.* 7", b"s.a 8")
    before = talk.core.totals().subscriptions
    subscriber.say(b"UNSUB 7\r\n")
    _publish(talk, b"s.a")

    assert 4 == before
    assert 2 == talk.core.totals().subscriptions
    assert b"MSG s.a 8 1\r\nx\r\n" == subscriber.heard()


def test_a_client_that_leaves_takes_its_shadows_along(talk: Talk) -> None:
    _put(talk, _import("s.*"))
    subscriber = _subscriber(talk, b"s.* 7")
    talk.core.hang_up(subscriber.link)
    talk.turn()
    _publish(talk, b"s.a")

    assert 0 == talk.core.totals().subscriptions


def test_who_hears_no_echo_hears_none_by_an_import(talk: Talk) -> None:
    _put(talk, _import("s"), account=B)
    _put(talk, _import("s", "s", A), account=A)
    client = talk.client(account=A, echo=False)
    client.say(b"SUB s 1\r\nPUB s 1\r\nx\r\n")

    assert b"" == client.heard()


def test_new_tables_hold_for_subscriptions_that_are_there(talk: Talk) -> None:
    subscriber = _subscriber(talk, b"> 7")
    _put(talk, _import("s.*", "old.*"))
    _publish(talk, b"s.1")
    _put(talk, _import("s.*", "new.*"), _import("t"))
    _publish(talk, b"s.2", b"t")
    _put(talk)
    _publish(talk, b"s.3")

    assert [b"old.1", b"new.2", b"t"] == _subjects(subscriber.heard())


def test_what_came_as_a_request_is_not_exported_as_a_stream(talk: Talk) -> None:
    imported = ServiceImportRow(account=B, subject="svc", to="help")
    _put(talk, account=C, service_imports=(imported,))
    _put(talk, _import("svc"))
    subscriber = _subscriber(talk, b"svc 7")
    _publish(talk, b"help", account=C)
    _publish(talk, b"svc")

    assert b"MSG svc 7 1\r\nx\r\n" == subscriber.heard()


def test_imports_do_not_chain(talk: Talk) -> None:
    _put(talk, _import("s", "s", C), account=B)
    _put(talk, _import("s"))
    subscriber = _subscriber(talk, b"s 7")
    _publish(talk, b"s", account=C)

    assert b"" == subscriber.heard()


def test_a_sink_has_shadows_too(talk: Talk) -> None:
    first = talk.core.subscribe_sink(A, b"mine.*")
    _put(talk, _import("s.*", "mine.*"))
    talk.core.subscribe_sink(A, b"mine.a")
    talk.turn()
    _publish(talk, b"s.a")
    talk.core.unsubscribe_sink(first)
    talk.turn()
    _publish(talk, b"s.a")
    subjects = [
        message[0]
        for event in talk.of(Delivered)
        if isinstance(event, Delivered)
        for message in event.batch.detach()
    ]

    assert [b"mine.a"] * 3 == subjects


# ---- servers -------------------------------------------------------------------------------------


def test_other_servers_are_told_of_shadows(talk: Talk) -> None:
    _put(talk, _import("s.>", "mine.>"))
    route = talk.route(accounts=[A, B])
    subscriber = _subscriber(talk, b"mine.a.* 7", b"mine.> workers 8")
    told = route.heard()
    route.say(b"RMSG B s.a.b 1\r\nx\r\n")
    heard = subscriber.heard()
    subscriber.say(b"UNSUB 7\r\n")

    assert (
        b"RS+ A mine.a.*\r\nRS+ B s.a.*\r\nRS+ A mine.> workers 1\r\nRS+ B s.> workers 1\r\n"
        == told
    )
    assert b"MSG mine.a.b 7 1\r\nx\r\n" == heard
    assert {b"RS- A mine.a.*", b"RS- B s.a.*"} == set(route.heard().split(b"\r\n")) - {b""}


def test_a_message_of_a_route_reaches_the_group_that_it_names(talk: Talk) -> None:
    _put(talk, _import("s"))
    route = talk.route(accounts=[A, B])
    subscriber = _subscriber(talk, b"s workers 7")
    route.say(b"RMSG B s 1\r\nx\r\nRMSG B s | workers 1\r\ny\r\n")

    assert b"MSG s 7 1\r\ny\r\n" == subscriber.heard()


def test_new_tables_do_not_tell_anew_what_stays(talk: Talk) -> None:
    _put(talk, _import("s"), _import("t"))
    route = talk.route(accounts=[A, B])
    _subscriber(talk, b"> 7")
    route.heard()
    _put(talk, _import("s"), _import("u"))

    assert {b"RS+ B u", b"RS- B t"} == set(route.heard().split(b"\r\n")) - {b""}


@pytest.mark.parametrize(
    ("imported", "problem"),
    [
        (_import("s.*", "p"), "does not use each"),
        (_import("s..a"), "that is no subject"),
        (_import("s.*", "p.{{left(1,1)}}"), "no function but wildcard"),
    ],
)
def test_an_import_that_makes_no_sense_is_refused(
    talk: Talk, imported: StreamImportRow, problem: str
) -> None:
    with pytest.raises(BadTransform, match=problem):
        talk.core.set_account_tables(A, AccountTables(stream_imports=(imported,)))


def test_an_import_of_nobody_is_refused(talk: Talk) -> None:
    with pytest.raises(ValueError, match="no account 9"):
        talk.core.set_account_tables(A, AccountTables(stream_imports=(_import("s", account=9),)))


def test_streams_of_an_account_that_went_come_back_with_new_tables(talk: Talk) -> None:
    _put(talk, _import("s"), _import("t", account=C))
    subscriber = _subscriber(talk, b"> 7")
    talk.core.remove_account(B)
    talk.turn()
    _publish(talk, b"t", account=C)
    assert B == talk.core.add_account(b"B")
    _put(talk, _import("s"))
    _publish(talk, b"s")
    subscriber.say(b"UNSUB 7\r\n")

    assert [b"t", b"s"] == _subjects(subscriber.heard())
    assert 0 == talk.core.totals().subscriptions


def test_an_account_that_went_casts_no_shadows(talk: Talk) -> None:
    _put(talk, _import("s"))
    _subscriber(talk, b"s 7")
    talk.core.remove_account(A)
    talk.turn()

    assert 0 == talk.core.totals().subscriptions


def test_what_a_client_subscribed_before_it_went_to_another_account_ends(talk: Talk) -> None:
    _put(talk, _import("s.>", "t.>"), account=0)
    client = talk.stranger()
    client.say(b'SUB t.> 1\r\nCONNECT {"account":1,"verbose":false,"pedantic":false}\r\n')
    client.heard()
    _put(talk, account=0)
    _publish(talk, b"s.a")
    _publish(talk, b"t.a", account=0)

    assert b"" == client.heard()
    assert 0 == talk.core.totals().subscriptions


@pytest.mark.parametrize("to", ["", "mine.>"])
def test_what_a_port_delivers_as_something_else_keeps_its_subject(talk: Talk, to: str) -> None:
    _put(talk, _import("to.a.>", to))
    subscriber = _subscriber(talk, b"> 1")
    outgoing = Outgoing()
    outgoing.add(B, b"orders.0", b"x", reply=b"$JS.ACK.1", inbox=b"to.a.1")
    port = talk.core.open_port()
    assert port.publish(outgoing)

    assert subscriber.heard() == b"MSG orders.0 1 $JS.ACK.1 1\r\nx\r\n"
