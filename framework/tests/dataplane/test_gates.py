"""Gates: what is published waits for verdicts, in order, and goes on as they say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec import structs

from framework.dataplane import (
    Closed,
    GateFailed,
    GateQueue,
    LinkKind,
    MessageTraced,
    TapKind,
    WebSocketFrames,
)
from framework.dataplane.permissions import Permissions, SubjectRules
from framework.dataplane.scopes import Scope
from framework.dataplane.tables import AccountTables, MappedDestination, SubjectMapping
from framework.dataplane.verdict import PASS, Delay, Refuse, Rewrite, encoded_verdicts
from framework.testing.websocket import FrameReader, frame_bytes
from framework.tests.dataplane.conftest import Peer, Talk
from framework.tests.dataplane.test_dialects import KINDS
from framework.wire.closed_state import ClosedState

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework.dataplane.verdict import Verdict


def gate(talk: Talk, subject: bytes, **terms: object) -> GateQueue:
    queue = talk.core.add_gate(0, subject, **terms)
    talk.turn()
    return queue


def decide(
    talk: Talk, queue: GateQueue, verdict: Callable[[bytes, bytes, bytes], Verdict] | None = None
) -> list[tuple[bytes, bytes]]:
    """Answer one batch as `verdict` says, of subject, header and payload; return what it was."""
    taken = queue.take()

    assert taken is not None
    number, batch = taken
    messages = batch.detach()
    verdicts = [verdict(it[0], it[2], it[3]) if verdict else PASS for it in messages]
    talk.core.answer_gate(queue.id, number, encoded_verdicts(batch, verdicts))
    del batch, taken
    talk.turn()
    return [(it[0], it[3]) for it in messages]


def published(subject: bytes, *payloads: bytes) -> bytes:
    return b"".join(b"PUB %b %d\r\n%b\r\n" % (subject, len(it), it) for it in payloads)


def listener(talk: Talk, *subjects: bytes) -> Peer:
    peer = talk.client()
    for number, subject in enumerate(subjects or (b">",)):
        peer.say(b"SUB %b %d\r\n" % (subject, number + 1))
    return peer


def payloads(peer: Peer) -> list[bytes]:
    lines = peer.heard().split(b"\r\n")
    return [lines[at + 1] for at, line in enumerate(lines) if line.startswith((b"MSG", b"HMSG"))]


def test_a_message_waits_for_its_verdict_and_goes_on_as_it_was(talk: Talk) -> None:
    queue, hears, client = gate(talk, b"a.*"), listener(talk), talk.client()
    header = b"NATS/1.0\r\nk: v\r\n\r\n"
    client.say(b"HPUB a.b re %d %d\r\n%bhi\r\n" % (len(header), len(header) + 2, header))

    assert b"" == hears.heard()
    assert [(b"a.b", b"hi")] == decide(talk, queue)
    assert b"HMSG a.b 1 re %d %d\r\n%bhi\r\n" % (len(header), len(header) + 2, header) == (
        hears.heard()
    )


@pytest.mark.parametrize("count", [1, 3, 5000])
def test_a_run_goes_in_batches_in_order(talk: Talk, count: int) -> None:
    queue, hears = gate(talk, b"a"), listener(talk)
    expected = [b"%d" % number for number in range(count)]
    talk.client().say(published(b"a", *expected))
    seen, got = [], []
    while len(seen) < count:
        batch = decide(talk, queue)
        seen += [payload for _, payload in batch]
        got += payloads(hears)

        assert len(batch) <= 2000
    assert expected == seen == got


def test_what_goes_elsewhere_waits_and_what_goes_to_the_gate_does_not(talk: Talk) -> None:
    queue, hears, client = gate(talk, b"a.*"), listener(talk, b">"), talk.client()
    client.say(published(b"a.b", b"1") + published(b"a.c", b"2") + published(b"b", b"3"))
    client.say(b"PING\r\n" + published(b"a.b", b"4"))

    assert (b"", b"") == (hears.heard(), client.heard())
    assert [(b"a.b", b"1"), (b"a.c", b"2")] == decide(talk, queue)
    assert [b"1", b"2", b"3"] == payloads(hears)
    assert b"PONG\r\n" == client.heard()
    assert [(b"a.b", b"4")] == decide(talk, queue)
    assert [b"4"] == payloads(hears)


def test_others_are_not_held_up(talk: Talk) -> None:
    queue, hears, client, other = gate(talk, b"a"), listener(talk), talk.client(), talk.client()
    client.say(published(b"a", b"1"))
    other.say(published(b"b", b"2"))

    assert [b"2"] == payloads(hears)
    assert [(b"a", b"1")] == decide(talk, queue)


def test_a_refused_message_goes_no_further(talk: Talk) -> None:
    queue, hears, client = gate(talk, b"a"), listener(talk, b"a"), talk.client(verbose=True)
    client.heard()
    client.say(b"SUB re 1\r\n" + b"PUB a re 1\r\nx\r\n" * 3 + published(b"a", b"ok"))
    verdicts = iter([
        Refuse(),
        Refuse(error="too new"),
        Refuse(status=400, description="Bad"),
        PASS,
    ])
    decide(talk, queue, lambda *_: next(verdicts))

    assert [b"ok"] == payloads(hears)
    assert client.heard() == (
        b"+OK\r\n-ERR 'Permissions Violation for Publish to \"a\": too new'\r\n"
        b"HMSG re 1 20 20\r\nNATS/1.0 400 Bad\r\n\r\n\r\n+OK\r\n"
    )


def test_a_message_is_changed(talk: Talk) -> None:
    queue, hears, client = gate(talk, b"a"), listener(talk), talk.client()
    header = b"NATS/1.0\r\nk: v\r\n\r\n"
    changes = [
        Rewrite(payload=b"longer than it was"),
        Rewrite(subject="b.c"),
        Rewrite(header=header),
        Rewrite(header=header, payload=b"", subject="d"),
        Rewrite(),
    ]
    verdicts = iter(changes)
    client.say(b"PUB a re 2\r\nhi\r\n" * 5)
    decide(talk, queue, lambda *_: next(verdicts))

    assert hears.heard() == (
        b"MSG a 1 re 18\r\nlonger than it was\r\nMSG b.c 1 re 2\r\nhi\r\n"
        b"HMSG a 1 re 18 20\r\n%bhi\r\nHMSG d 1 re 18 18\r\n%b\r\nMSG a 1 re 2\r\nhi\r\n"
        % (header, header)
    )


def test_a_header_is_taken_off_with_the_payload_kept(talk: Talk) -> None:
    queue, hears, client = gate(talk, b"a"), listener(talk), talk.client()
    header = b"NATS/1.0\r\nk: v\r\n\r\n"
    client.say(b"HPUB a %d %d\r\n%bhi\r\n" % (len(header), len(header) + 2, header))
    decide(talk, queue, lambda *_: Rewrite(header=b""))

    assert b"MSG a 1 2\r\nhi\r\n" == hears.heard()


def test_a_subject_that_the_publisher_may_not_use_is_refused(talk: Talk) -> None:
    queue, hears = gate(talk, b"a"), listener(talk)
    number = talk.core.add_permissions(Permissions(publish=SubjectRules(allow=("a", "b"))))
    client = talk.client(permissions=number)
    client.say(published(b"a", b"1", b"2", b"3"))
    subjects = iter(["b", "secret", "_GR_.x.y"])
    decide(talk, queue, lambda *_: Rewrite(subject=next(subjects)))

    assert [b"1"] == payloads(hears)
    assert 2 == client.heard().count(b"Permissions Violation for Publish to")
    assert 2 == len(talk.of(GateFailed))
    assert queue.id == talk.of(GateFailed)[0].gate


def test_what_is_not_allowed_is_refused_behind_what_waits(talk: Talk) -> None:
    queue = gate(talk, b">")
    number = talk.core.add_permissions(Permissions(publish=SubjectRules(deny=("no",))))
    client = talk.client(permissions=number)
    client.say(published(b"a", b"1") + published(b"no", b"2"))

    assert b"" == client.heard()
    assert [(b"a", b"1")] == decide(talk, queue, lambda *_: Refuse(error="first"))
    first, second = client.heard().splitlines()
    assert b"first" in first
    assert b'"no"' in second


def test_a_delayed_message_holds_what_its_publisher_says_behind_it(talk: Talk) -> None:
    queue, hears, client = gate(talk, b"a"), listener(talk), talk.client()
    client.say(published(b"a", b"1", b"2", b"3") + published(b"b", b"4"))
    verdicts = iter([PASS, Delay(2.0), Delay(1.0)])
    decide(talk, queue, lambda *_: next(verdicts))

    assert [b"1"] == payloads(hears)
    talk.turn(1.5)
    assert [] == payloads(hears)
    talk.turn(1.0)
    talk.turn()
    assert [b"2", b"3", b"4"] == payloads(hears)
    assert 2 == queue.counters().delayed


@pytest.mark.parametrize("is_open", [False, True])
def test_time_is_over(talk: Talk, is_open: bool) -> None:  # noqa: FBT001
    queue, hears, client = (
        gate(talk, b"a", is_open=is_open, limit_s=2.0),
        listener(talk),
        talk.client(),
    )
    client.say(published(b"a", b"1", b"2"))
    number, batch = queue.take() or (0, None)
    client.say(published(b"a", b"3") + published(b"b", b"4"))
    talk.turn(1.9)

    assert [] == payloads(hears)
    talk.turn(0.2)
    talk.turn()
    assert ([b"1", b"2", b"3", b"4"] if is_open else [b"4"]) == payloads(hears)
    assert (0 if is_open else 3) == client.heard().count(b"undecided")
    assert 3 == queue.counters().expired
    assert "has not answered in time" == talk.of(GateFailed)[0].problem
    assert batch is not None
    talk.core.answer_gate(queue.id, number, b"")
    talk.turn()
    assert [] == payloads(hears)


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize(
    "answer", [None, b"x", b"\2" + bytes(23), b"\2" + bytes(47), b"\2" + bytes(200), b"\xff" * 48]
)
def test_an_answer_that_makes_no_sense(talk: Talk, answer: bytes | None, is_open: bool) -> None:  # noqa: FBT001
    queue, hears, client = gate(talk, b"a", is_open=is_open), listener(talk), talk.client()
    client.say(published(b"a", b"1", b"2") + published(b"b", b"3"))
    number, _ = queue.take() or (0, None)
    talk.core.answer_gate(queue.id, number, answer)
    talk.turn()

    assert ([b"1", b"2", b"3"] if is_open else [b"3"]) == payloads(hears)
    assert 2 == queue.counters().failed
    assert 1 == len(talk.of(GateFailed))


def test_a_link_that_ends_is_closed_when_its_last_verdict_is_carried_out(talk: Talk) -> None:
    queue, hears, client = gate(talk, b"a"), listener(talk), talk.client()
    client.say(published(b"a", b"1", b"2"))
    talk.core.hang_up(client.link)
    talk.turn()

    assert not talk.core.is_busy
    assert [] == talk.of(Closed)
    decide(talk, queue)
    assert [b"1", b"2"] == payloads(hears)
    assert [client.link] == [event.link for event in talk.of(Closed)]


def test_a_client_that_is_kicked_while_it_waits(talk: Talk) -> None:
    queue, hears, client = gate(talk, b"a"), listener(talk), talk.client()
    client.say(published(b"a", b"1") + published(b"b", b"2"))
    talk.core.close(client.link, ClosedState.KICKED)
    talk.turn()
    decide(talk, queue, lambda *_: Refuse(error="no"))
    talk.turn()

    assert [] == payloads(hears)
    assert 1 == len(talk.of(Closed))
    assert 1 == talk.core.totals().kinds[LinkKind.CLIENT].links


def test_a_full_gate_is_waited_for(talk: Talk) -> None:
    queue, hears = gate(talk, b"a", bytes_max=10_000), listener(talk)
    clients = [talk.client() for _ in range(3)]
    expected = [b"x" * 1000 + b"%d" % number for number in range(20)]
    for client in clients:
        client.say(published(b"a", *expected) + b"PING\r\n")
    got = []

    assert queue.counters().waiting_bytes < 12_000
    while len(got) < 60:
        decide(talk, queue)
        talk.turn()
        got += payloads(hears)
        assert queue.counters().waiting_bytes < 12_000
    assert sorted(3 * expected) == sorted(got)
    assert [b"PONG\r\n"] * 3 == [client.heard() for client in clients]


def test_gates_follow_each_other_by_their_order(talk: Talk) -> None:
    second, first = gate(talk, b"a.>", order=2), gate(talk, b"a.b", order=1)
    hears, client = listener(talk), talk.client()
    client.say(published(b"a.b", b"1", b"2") + published(b"a.c", b"3"))
    decide(talk, first, lambda _s, _h, payload: Rewrite(payload=payload + b"!"))

    assert [] == payloads(hears)
    assert [(b"a.b", b"1!"), (b"a.b", b"2!")] == decide(talk, second)
    assert [(b"a.c", b"3")] == decide(talk, second)
    assert [b"1!", b"2!", b"3"] == payloads(hears)


def test_a_gate_that_is_taken_away_decides_on_what_waits_and_no_more(talk: Talk) -> None:
    queue, hears, client = gate(talk, b"a"), listener(talk), talk.client()
    client.say(published(b"a", b"1", b"2"))
    talk.core.remove_gate(queue.id)
    talk.turn()
    client.say(published(b"a", b"3"))
    talk.client().say(published(b"a", b"other"))

    assert [b"other"] == payloads(hears)
    assert not queue.is_closed
    assert [(b"a", b"1"), (b"a", b"2")] == decide(talk, queue)
    assert [b"1", b"2", b"3"] == payloads(hears)
    assert queue.is_closed
    assert 0 == queue.counters().waiting_bytes


def test_a_gate_that_another_takes_the_place_of_decides_on_what_waits(talk: Talk) -> None:
    old, behind = gate(talk, b"a", order=1), gate(talk, b">", order=3)
    hears, client, other = listener(talk), talk.client(), talk.client()
    client.say(published(b"a", b"1"))
    new = gate(talk, b"*", order=2, replaces=old.id)
    client.say(published(b"a", b"2"))
    other.say(published(b"b", b"3"))

    assert [(b"b", b"3")] == decide(talk, new)
    assert [(b"b", b"3")] == decide(talk, behind)
    assert [(b"a", b"1")] == decide(talk, old)
    assert old.is_closed
    assert [(b"a", b"1")] == decide(talk, behind)
    assert [(b"a", b"2")] == decide(talk, new)
    assert [(b"a", b"2")] == decide(talk, behind)
    assert [b"3", b"1", b"2"] == payloads(hears)


def test_the_terms_of_a_gate_change_for_what_comes_next(talk: Talk) -> None:
    queue, hears, client = gate(talk, b"a", bytes_max=1), listener(talk), talk.client()
    other = talk.client()
    client.say(published(b"a", b"1"))
    other.say(published(b"a", b"2"))
    talk.core.change_gate(queue.id, is_open=True, bytes_max=1 << 20, limit_s=9.0)
    talk.turn()
    talk.turn(2.0)

    assert [b"1"] == payloads(hears)
    talk.turn(8.0)
    assert [b"2"] == payloads(hears)
    assert 2 == queue.counters().expired


def test_a_message_that_waits_long_does_not_keep_its_batch(talk: Talk) -> None:
    queue, hears, client, other = gate(talk, b"a"), listener(talk), talk.client(), talk.client()
    talk.core.feed(client.link, published(b"a", b"later"), talk.now_ns)
    talk.core.feed(other.link, published(b"a", *[b"x" * 1000] * 100), talk.now_ns)
    talk.turn()
    decide(talk, queue, lambda _s, _h, payload: Delay(9.0) if payload == b"later" else PASS)

    assert 100 == len(payloads(hears))
    assert 0 < queue.counters().waiting_bytes < 200
    talk.turn(9.0)
    assert [b"later"] == payloads(hears)
    assert 0 == queue.counters().waiting_bytes


def test_a_tap_sees_what_passed_and_a_503_is_said_behind_the_gate(talk: Talk) -> None:
    queue = gate(talk, b"a")
    sink = talk.core.subscribe_sink(0, b">", kind=TapKind.INGRESS)
    client = talk.client(no_responders=True)
    client.say(b"SUB re 1\r\nPUB a re 1\r\nx\r\nPUB a re 1\r\ny\r\n")

    assert b"" == client.heard()
    verdicts = iter([Refuse(), Rewrite(payload=b"changed")])
    decide(talk, queue, lambda *_: next(verdicts))
    assert 1 == client.heard().count(b"NATS/1.0 503")
    batches = [event.batch for event in talk.events if getattr(event, "sink", 0) == sink]
    assert [b"changed"] == [it[3] for batch in batches for it in batch.detach()]


def test_a_mapped_message_waits_at_the_gate_of_where_it_goes(talk: Talk) -> None:
    mapping = SubjectMapping(source="old", destinations=(MappedDestination(subject="new"),))
    talk.core.set_account_tables(0, AccountTables(mappings=(mapping,)))
    queue, hears, client = gate(talk, b"new"), listener(talk), talk.client()
    client.say(published(b"old", b"1", b"2") + published(b"new", b"3"))

    assert [(b"new", b"1")] == decide(talk, queue)
    assert [(b"new", b"2"), (b"new", b"3")] == decide(talk, queue)
    assert [b"1", b"2", b"3"] == payloads(hears)


def test_a_traced_message_is_traced_behind_the_gate(talk: Talk) -> None:
    queue, hears, client = gate(talk, b"a"), listener(talk, b"a"), talk.client()
    header = b"NATS/1.0\r\nNats-Trace-Dest: t\r\n\r\n"
    client.say(b"HPUB a %d %d\r\n%bhi\r\n" % (len(header), len(header) + 2, header) * 2)

    assert [] == talk.of(MessageTraced)
    verdicts = iter([PASS, Refuse()])
    decide(talk, queue, lambda *_: next(verdicts))
    assert [1, 0] == [len(event.steps) for event in talk.of(MessageTraced)]
    assert 1 == len(payloads(hears))


def test_what_routes_bring_and_this_process_publishes_passes_no_gate(talk: Talk) -> None:
    queue, hears, route = gate(talk, b">"), listener(talk), talk.route()
    route.say(b"RMSG $G a 1\r\nx\r\n" * 3)
    talk.core.publish(0, [(b"a", b"", b"", b"y")] * 3)
    talk.turn()

    assert [b"x"] * 3 + [b"y"] * 3 == payloads(hears)
    assert queue.take() is None


def test_a_large_message_that_must_wait(talk: Talk) -> None:
    queue, hears, client = gate(talk, b"a"), listener(talk), talk.client()
    large = b"x" * 500_000
    client.say(published(b"a", b"1") + published(b"b", large))

    assert [] == payloads(hears)
    decide(talk, queue)
    assert [b"1", large] == payloads(hears)
    client.say(published(b"a", large) + b"PING\r\n")
    assert [(b"a", large)] == decide(talk, queue)
    assert [large] == payloads(hears)
    assert b"PONG\r\n" == client.heard()


@pytest.mark.parametrize("count", [2, 70_000, 300_000])
def test_a_client_behind_a_stage_waits_as_others_do(talk: Talk, count: int) -> None:
    queue, hears, large = gate(talk, b"a"), listener(talk), b"x" * count
    link = talk.core.open(LinkKind.CLIENT, "::1", 9, accepted=True, stages=(WebSocketFrames(),))
    client, reader = Peer(talk, link), FrameReader()
    client.say(frame_bytes(b'CONNECT {"verbose":false,"pedantic":false}\r\n'))
    client.heard()
    said = published(b"a", b"1") + published(b"b", large) + b"PING\r\n" + published(b"a", large)
    for at in range(0, len(said), 50_000):
        client.say(frame_bytes(said[at : at + 50_000]))

    assert [] == payloads(hears)
    assert [(b"a", b"1")] == decide(talk, queue)
    talk.turn()
    reader.feed(client.heard())
    assert b"PONG\r\n" == reader.plain()
    assert [b"1", large] == payloads(hears)
    assert [(b"a", large)] == decide(talk, queue)
    assert [large] == payloads(hears)


def test_a_client_that_is_given_other_permissions_while_it_waits(talk: Talk) -> None:
    queue, hears, client = gate(talk, b"a"), listener(talk), talk.client()
    client.say(published(b"a", b"1"))
    number = talk.core.add_permissions(Permissions(publish=SubjectRules(deny=("a",))))
    talk.core.set_client(client.link, permissions=number)
    talk.turn()
    client.say(published(b"a", b"2") + published(b"b", b"3"))

    assert b"" == client.heard()
    assert [(b"a", b"1")] == decide(talk, queue)
    assert [b"1", b"3"] == payloads(hears)
    assert b"Permissions Violation" in client.heard()


def test_an_account_that_is_removed_while_its_messages_wait(talk: Talk) -> None:
    other = talk.core.add_account(b"OTHER")
    queue = talk.core.add_gate(other, b"a")
    client = talk.client(account=other)
    client.say(published(b"a", b"1"))
    talk.core.close(client.link, ClosedState.AUTHENTICATION_EXPIRED)
    talk.core.remove_account(other)
    talk.turn()
    decide(talk, queue)

    assert [client.link] == [event.link for event in talk.of(Closed)]
    assert 0 == queue.counters().waiting_bytes


def test_a_core_that_ends_with_messages_at_its_gates() -> None:
    talk = Talk()
    queue = gate(talk, b"a")
    clients = [talk.client() for _ in range(3)]
    for client in clients:
        client.say(published(b"a", b"1", b"2") + published(b"b", b"3"))
    talk.core.hang_up(clients[0].link)
    talk.turn()
    decide(talk, queue, lambda *_: Delay(30.0))
    _, batch = queue.take() or (0, None)
    del talk, client, clients

    assert queue.is_closed
    assert queue.take() is None
    assert batch is not None
    assert {b"1", b"2"} == {bytes(batch.payload(index)) for index in range(len(batch))}


# ---- of leaf nodes


def brought(subject: bytes, *payloads: bytes) -> bytes:
    return b"".join(b"LMSG %b %d\r\n%b\r\n" % (subject, len(it), it) for it in payloads)


@pytest.fixture
def leafs() -> Talk:
    leaf = structs.replace(KINDS[LinkKind.LEAF], enters=True)
    return Talk(kinds={**KINDS, LinkKind.LEAF: leaf})


def test_what_leaf_nodes_publish_passes_gates(leafs: Talk) -> None:
    queue, hears = gate(leafs, b"a.*"), listener(leafs)
    leaf = leafs.server(LinkKind.LEAF, accounts=[0])
    leaf.say(brought(b"a.1", b"1", b"2", b"no", b"3") + brought(b"b", b"4"))
    assert [] == payloads(hears)

    def verdict(_subject: bytes, _header: bytes, payload: bytes) -> Verdict:
        return Refuse(error="no") if payload == b"no" else Rewrite(payload=payload * 2)

    assert 4 == len(decide(leafs, queue, verdict))
    assert [b"11", b"22", b"33", b"4"] == payloads(hears)
    assert b"ERR" not in leaf.heard()
    assert [] == leafs.of(Closed)


def test_a_leaf_nodes_message_keeps_reply_and_groups(leafs: Talk) -> None:
    queue, plain, member = gate(leafs, b"a"), listener(leafs, b"a"), leafs.client()
    member.say(b"SUB a one 7\r\nSUB a other 8\r\n")
    leaf = leafs.server(LinkKind.LEAF, accounts=[0])
    leaf.say(b"LMSG a + back one two 1\r\nx\r\nHMSG a | other 12 13\r\nNATS/1.0\r\n\r\ny\r\n")
    leaf.say(b"PING\r\n")
    assert leaf.heard().endswith(b"PONG\r\n")
    decide(leafs, queue)

    header = b"12 13\r\nNATS/1.0\r\n\r\ny\r\n"
    assert b"MSG a 1 back 1\r\nx\r\nHMSG a 1 " + header == plain.heard()
    assert b"MSG a 7 back 1\r\nx\r\nHMSG a 8 " + header == member.heard()


def test_what_a_leaf_node_says_behind_a_gate_keeps_its_order(leafs: Talk) -> None:
    queue, other, hears = gate(leafs, b"a"), gate(leafs, b"b"), listener(leafs)
    leaf, client = leafs.server(LinkKind.LEAF, accounts=[0]), leafs.client()
    leaf.say(brought(b"a", b"1") + brought(b"b", b"2") + brought(b"a", b"3") + b"LS+ c\r\n")
    client.say(published(b"c", b"no"))
    assert [b"no"] == payloads(hears)
    for its in (queue, other, queue):
        decide(leafs, its)
    client.say(published(b"c", b"yes"))

    assert [b"1", b"2", b"3", b"yes"] == payloads(hears)
    assert leaf.heard().endswith(b"LMSG c 3\r\nyes\r\n")


def test_a_cluster_of_leaf_nodes_hears_nothing_of_its_own_behind_a_gate(leafs: Talk) -> None:
    queue = gate(leafs, b"a")
    one, two, far = (
        leafs.server(LinkKind.LEAF, accounts=[0], origin=it) for it in (b"L", b"L", b"M")
    )
    for it in (one, two, far):
        it.say(b"LS+ a\r\n")
    for it in (one, two, far):
        it.heard()
    one.say(brought(b"a", b"1", b"2"))
    decide(leafs, queue)

    assert b"" == one.heard() + two.heard()
    assert brought(b"a", b"1", b"2") == far.heard()


def test_a_leaf_node_that_ends_at_a_gate_is_heard(leafs: Talk) -> None:
    queue, hears = gate(leafs, b"a"), listener(leafs)
    leaf = leafs.server(LinkKind.LEAF, accounts=[0])
    leaf.say(brought(b"a", b"1"))
    leafs.core.hang_up(leaf.link)
    leafs.turn()
    decide(leafs, queue)

    assert [b"1"] == payloads(hears)
    assert 1 == len(leafs.of(Closed))


def test_hubs_and_routes_pass_no_gates(leafs: Talk) -> None:
    gate(leafs, b"a")
    hears = listener(leafs)
    hub = leafs.server(LinkKind.LEAF, accounts=[0], scope=Scope.HUB)
    hub.say(brought(b"a", b"1"))
    leafs.route().say(b"RMSG $G a 1\r\n2\r\n")

    assert [b"1", b"2"] == payloads(hears)
