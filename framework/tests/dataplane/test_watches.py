"""Taps beside the match: who watches what is published, and that nobody notices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from framework.dataplane import Delivered, Overflow, TapKind, WatchTerms
from framework.dataplane.permissions import Permissions, SubjectRules
from framework.dataplane.tables import AccountTables, MappedDestination, SubjectMapping

if TYPE_CHECKING:
    from framework.tests.dataplane.conftest import Talk


def seen(talk: Talk, sink: int) -> list[tuple[bytes, bytes]]:
    """Return (subject, payload) of what a sink has got."""
    batches = [event.batch for event in talk.of(Delivered) if event.sink == sink]
    return [(subject, payload) for it in batches for subject, _, _, payload in it.detach()]


def watch(talk: Talk, subject: bytes, kind: TapKind = TapKind.INGRESS, account: int = 0) -> int:
    sink = talk.core.subscribe_sink(account, subject, kind=kind)
    talk.turn()
    return sink


def published(subject: bytes, *payloads: bytes) -> bytes:
    return b"".join(b"PUB %b %d\r\n%b\r\n" % (subject, len(it), it) for it in payloads)


@pytest.mark.parametrize("receivers", [0, 1, 3])
def test_a_run_of_one_line_is_seen_whoever_receives_it(talk: Talk, receivers: int) -> None:
    sink = watch(talk, b"a.*")
    clients = [talk.client() for _ in range(receivers)]
    for client in clients:
        client.say(b"SUB a.> 1\r\n")
    payloads = [b"%d" % number for number in range(5)]
    talk.client().say(published(b"a.b", *payloads) + published(b"c", b"x", b"x", b"x"))

    assert [(b"a.b", it) for it in payloads] == seen(talk, sink)
    for client in clients:
        assert 5 == client.heard().count(b"MSG a.b")


def test_a_watched_request_that_nobody_serves_still_gets_its_503(talk: Talk) -> None:
    sink = watch(talk, b">")
    client = talk.client(no_responders=True)

    assert b"NATS/1.0 503" in client.ask(b"SUB _I 1\r\nPUB s _I 2\r\nhi\r\n")
    assert [(b"s", b"hi")] == seen(talk, sink)


def test_no_server_hears_of_a_watch_and_what_routes_bring_is_not_watched(talk: Talk) -> None:
    route = talk.route()
    sink, unheard = watch(talk, b">"), watch(talk, b">", TapKind.UNHEARD)
    route.say(b"RMSG $G a 2\r\nhi\r\n" * 3)

    assert b"" == route.heard()
    assert [] == seen(talk, sink) + seen(talk, unheard)
    assert 0 == talk.core.totals().subscriptions


def test_what_this_process_publishes_is_not_watched(talk: Talk) -> None:
    sink, unheard = watch(talk, b">"), watch(talk, b">", TapKind.UNHEARD)
    talk.core.publish(0, [(b"a", b"", b"", b"hi")] * 3)
    talk.turn()

    assert [] == seen(talk, sink) + seen(talk, unheard)


def test_what_found_no_receiver_is_unheard(talk: Talk) -> None:
    sink = watch(talk, b"a.>", TapKind.UNHEARD)
    publisher, client, route = talk.client(no_responders=True), talk.client(), talk.route()
    publisher.say(published(b"a.b", b"1", b"2", b"3") + published(b"b", b"x"))
    client.say(b"SUB a.b 1\r\n")
    publisher.say(published(b"a.b", b"4", b"5", b"6"))
    client.say(b"UNSUB 1\r\n")
    route.say(b"RS+ $G a.b\r\n")
    publisher.say(published(b"a.b", b"7", b"8", b"9"))
    route.say(b"RS- $G a.b\r\n")
    answer = publisher.ask(b"SUB _I 1\r\nPUB a.c _I 2\r\nhi\r\n")

    assert [(b"a.b", it) for it in (b"1", b"2", b"3")] + [(b"a.c", b"hi")] == seen(talk, sink)
    assert b"NATS/1.0 503" in answer


def test_what_may_not_be_published_is_not_watched(talk: Talk) -> None:
    sink, unheard = watch(talk, b">"), watch(talk, b">", TapKind.UNHEARD)
    number = talk.core.add_permissions(Permissions(publish=SubjectRules(deny=("a.*",))))
    client = talk.client(permissions=number)

    assert b"Permissions Violation" in client.ask(published(b"a.b", b"1") + published(b"c", b"2"))
    assert [(b"c", b"2")] == seen(talk, sink) == seen(talk, unheard)


def test_a_mapped_message_is_watched_where_it_goes(talk: Talk) -> None:
    mapping = SubjectMapping(source="old", destinations=(MappedDestination(subject="new"),))
    talk.core.set_account_tables(0, AccountTables(mappings=(mapping,)))
    before, after = watch(talk, b"old"), watch(talk, b"new")
    talk.client().say(published(b"old", b"1", b"2", b"3"))

    assert [] == seen(talk, before)
    assert [(b"new", it) for it in (b"1", b"2", b"3")] == seen(talk, after)


def test_watches_that_come_and_go_change_lines_that_repeat(talk: Talk) -> None:
    client = talk.client()
    expected = []
    client.say(published(b"a", b"0", b"0", b"0"))
    for number in range(3):
        sink = watch(talk, b"a")
        payload = b"%d" % number
        client.say(published(b"a", payload, payload, payload))
        expected += [(b"a", payload)] * 3

        assert [(b"a", payload)] * 3 == seen(talk, sink)
        talk.core.unsubscribe_sink(sink)
        talk.turn()
        client.say(published(b"a", b"x", b"x", b"x"))

        assert 3 == len(seen(talk, sink))


def test_one_tap_or_several_see_subjects_that_change_from_line_to_line(talk: Talk) -> None:
    client = talk.client()
    lines = b"".join(published(b"a.%d" % (number % 3), b"%d" % number) for number in range(9))
    all_, one = watch(talk, b"a.*"), watch(talk, b"a.1")
    client.say(lines)
    expected = [(b"a.%d" % (number % 3), b"%d" % number) for number in range(9)]
    assert expected == seen(talk, all_)
    assert expected[1::3] == seen(talk, one)

    talk.core.unsubscribe_sink(all_)
    talk.events.clear()
    talk.turn()
    client.say(lines)

    assert [] == seen(talk, all_)
    assert expected[1::3] == seen(talk, one)


def test_accounts_are_watched_apart_and_a_removed_one_may_come_back(talk: Talk) -> None:
    other = talk.core.add_account(b"OTHER")
    here, there = watch(talk, b">"), watch(talk, b">", account=other)
    talk.client(account=other).say(published(b"a", b"1"))
    talk.core.remove_account(other)
    talk.turn()
    talk.core.unsubscribe_sink(there)
    talk.core.add_account(b"OTHER")
    again = watch(talk, b">", account=other)
    talk.client(account=other).say(published(b"a", b"2"))

    assert [] == seen(talk, here)
    assert ([(b"a", b"1")], [(b"a", b"2")]) == (seen(talk, there), seen(talk, again))


def test_a_message_that_is_only_traced_is_not_watched(talk: Talk) -> None:
    sink, unheard = watch(talk, b">"), watch(talk, b">", TapKind.UNHEARD)
    header = b"NATS/1.0\r\nNats-Trace-Dest: t\r\nNats-Trace-Only: true\r\n\r\n"
    client = talk.client()
    client.say(b"HPUB a %d %d\r\n%bhi\r\n" % (len(header), len(header) + 2, header))
    traced = header.replace(b"Nats-Trace-Only: true\r\n", b"")
    client.say(b"HPUB a %d %d\r\n%bhi\r\n" % (len(traced), len(traced) + 2, traced))

    assert [(b"a", b"hi")] == seen(talk, sink) == seen(talk, unheard)


def test_ten_thousand_rules_each_see_their_subject(talk: Talk) -> None:
    sinks = [
        talk.core.subscribe_sink(0, b"a.%d.*" % number, kind=TapKind.INGRESS)
        for number in range(10_000)
    ]
    talk.turn()
    client = talk.client()
    for _ in range(2):
        client.say(b"".join(published(b"a.%d.x" % number, b"hi") for number in range(10_000)))
    got = [event.sink for event in talk.of(Delivered) for _ in range(len(event.batch))]

    assert sorted(2 * sinks) == sorted(got)


@pytest.mark.parametrize("terms", [{"queue": b"q"}, {"overflow": Overflow.STALL}])
def test_who_watches_shares_with_nobody_and_holds_up_nobody(talk: Talk, terms: dict) -> None:
    with pytest.raises(ValueError, match="who watches"):
        talk.core.subscribe_sink(0, b"a", kind=TapKind.INGRESS, **terms)


@pytest.mark.parametrize("kind", [TapKind.INGRESS, TapKind.UNHEARD])
def test_a_sample_is_drawn_of_runs_and_of_single_messages(talk: Talk, kind: TapKind) -> None:
    sink = talk.core.subscribe_sink(0, b"a.*", kind=kind, terms=WatchTerms(sample=0.1))
    whole = talk.core.subscribe_sink(0, b"a.*", kind=kind)
    talk.turn()
    client = talk.client()
    for number in range(5):
        client.say(published(b"a.run", *[b"x"] * 200))
        client.say(b"".join(published(b"a.%d" % (200 * number + at), b"x") for at in range(200)))
    drawn = seen(talk, sink)

    assert 2000 == len(seen(talk, whole))
    assert 100 < len(drawn) < 300  # 200, give or take 13
    assert 30 < sum(subject == b"a.run" for subject, _ in drawn) < 170


def test_reserved_subjects_may_be_left_out(talk: Talk) -> None:
    terms = WatchTerms(reserved_subjects=False)
    sink = talk.core.subscribe_sink(0, b">", kind=TapKind.INGRESS, terms=terms)
    talk.turn()
    talk.client().say(published(b"$K", b"1", b"2", b"3"))
    talk.client().say(published(b"K", b"1", b"2", b"3"))

    assert [(b"K", it) for it in (b"1", b"2", b"3")] == seen(talk, sink)


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ({"sample": 0.0}, "sample"),
        ({"sample": 1.1}, "sample"),
        ({"payload_max": -1}, "payload_max"),
    ],
)
def test_terms_that_make_no_sense(terms: dict[str, float], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        WatchTerms(**terms)  # type: ignore[arg-type]


def test_a_subscriber_has_no_terms(talk: Talk) -> None:
    with pytest.raises(ValueError, match="all of its messages"):
        talk.core.subscribe_sink(0, b"a", terms=WatchTerms(sample=0.5))
