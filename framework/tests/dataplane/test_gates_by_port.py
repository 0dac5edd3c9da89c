"""Gates at which the thread of a port decides."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest

from framework.dataplane import Closed, GateFailed, GateQueue
from framework.dataplane.verdict import PASS, Delay, Refuse, Rewrite, encoded_verdicts
from framework.spec import RowKind
from framework.tests.dataplane.conftest import Talk

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework.dataplane.port import Port
    from framework.dataplane.verdict import Verdict
    from framework.tests.dataplane.conftest import Peer


def gate(talk: Talk, port: Port, subject: bytes, **terms: object) -> GateQueue:
    queue = talk.core.add_gate(0, subject, port=port, **terms)
    talk.turn()
    return queue


def published(subject: bytes, *payloads: bytes) -> bytes:
    return b"".join(b"PUB %b %d\r\n%b\r\n" % (subject, len(it), it) for it in payloads)


def payloads(peer: Peer) -> list[bytes]:
    lines = peer.heard().split(b"\r\n")
    return [lines[at + 1] for at, line in enumerate(lines) if line.startswith((b"MSG", b"HMSG"))]


def listener(talk: Talk) -> Peer:
    peer = talk.client()
    peer.say(b"SUB > 1\r\n")
    return peer


def decide(
    talk: Talk, port: Port, verdict: Callable[[bytes], Verdict] | None = None
) -> list[tuple[int, bytes, bytes]]:
    """Decide on all that waits for a port, by payload; return tag, subject and payload of it."""
    decided = []
    while (batch := port.take()) is not None:
        said = [bytes(batch.payload(at)) for at in range(len(batch))]
        for at, payload in enumerate(said):
            assert batch.kind(at) == RowKind.GATED
            decided.append((batch.tag(at), bytes(batch.subject(at)), payload))
        verdicts = [verdict(it) if verdict else PASS for it in said]
        port.decide(batch, verdicts)
        del batch
        talk.turn()
    return decided


def test_each_verdict_of_a_port_does_what_it_says(talk: Talk) -> None:
    port, hears, client = talk.core.open_port(), listener(talk), talk.client()
    queue = gate(talk, port, b"a", tag=-7)
    client.say(published(b"a", b"1", b"2", b"3", b"4", b"5") + published(b"b", b"6"))
    verdicts = {
        b"2": Rewrite(subject="c", payload=b"two"),
        b"3": Refuse(error="not today"),
        b"4": Delay(1.0),
    }

    assert [] == payloads(hears)
    decided = decide(talk, port, lambda it: verdicts.get(it, PASS))
    assert [(-7, b"a", b"%d" % it) for it in range(1, 6)] == decided
    assert [b"1", b"two"] == payloads(hears)
    assert b"not today" in client.heard()
    talk.turn(1.0)
    assert [b"4", b"5", b"6"] == payloads(hears)
    counters = queue.counters()
    assert (3, 1, 1, 0) == (counters.passed, counters.changed, counters.refused, counters.failed)


def test_a_port_has_some_batches_of_a_gate_at_a_time(talk: Talk) -> None:
    port, hears = talk.core.open_port(), listener(talk)
    queue = gate(talk, port, b"a")
    expected = [b"%d" % number for number in range(20_000)]
    talk.client().say(published(b"a", *expected))
    held = []
    while (batch := port.take()) is not None:
        held.append(batch)

    assert 4 == len(held)
    for batch in held:
        port.decide(batch, b"")
    del batch, held
    talk.turn()
    decide(talk, port)
    assert expected == payloads(hears)
    assert 0 == queue.counters().waiting_bytes


def test_a_port_hears_what_it_subscribes_to_beside_what_it_decides_on(talk: Talk) -> None:
    port, client = talk.core.open_port(), talk.client()
    port.subscribe(0, b"b", tag=2)
    gate(talk, port, b"a", tag=1)
    client.say(published(b"b", b"x"))
    client.say(published(b"a", b"y"))
    kinds = []
    while (batch := port.take()) is not None:
        kinds += [(batch.kind(at), batch.tag(at)) for at in range(len(batch))]
        if batch.kind(0) == RowKind.GATED:
            port.decide(batch, b"")
            with pytest.raises(ValueError, match="was decided on"):
                port.decide(batch, b"")
        else:
            with pytest.raises(ValueError, match="of no gate"):
                port.decide(batch, b"")

    assert [(RowKind.MESSAGE, 2), (RowKind.GATED, 1)] == kinds


def test_a_port_that_has_too_few_verdicts_hears_it_and_may_try_again(talk: Talk) -> None:
    port, hears, client = talk.core.open_port(), listener(talk), talk.client()
    gate(talk, port, b"a")
    client.say(published(b"a", b"1", b"2"))
    batch = port.take()

    assert batch is not None
    with pytest.raises(ValueError, match="1 verdicts for 2 messages"):
        port.decide(batch, [PASS])
    port.decide(batch, [PASS, Refuse()])
    assert [b"1"] == payloads(hears)


@pytest.mark.parametrize("is_open", [False, True])
def test_what_a_port_lets_go_of_undecided_has_failed(talk: Talk, is_open: bool) -> None:  # noqa: FBT001
    port, hears, client = talk.core.open_port(), listener(talk), talk.client()
    queue = gate(talk, port, b"a", is_open=is_open)
    client.say(published(b"a", b"1"))
    port.take()
    gc.collect()
    talk.turn()

    assert ([b"1"] if is_open else []) == payloads(hears)
    assert (0 if is_open else 1) == client.heard().count(b"undecided")
    assert 1 == queue.counters().failed
    assert ["has failed"] == [event.problem for event in talk.of(GateFailed)]


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (encoded_verdicts([b"1", b"2"], [Refuse(), PASS])[:24], "has too few verdicts"),
        (encoded_verdicts([b"1"] * 3, [PASS, PASS, Refuse()]), "has too many verdicts"),
        (b"\xff" * 48, "ends within a verdict"),
        (b"\5" + bytes(47), "is none that there is"),
    ],
)
def test_verdicts_of_a_port_that_make_no_sense(talk: Talk, answer: bytes, problem: str) -> None:
    port, client = talk.core.open_port(), talk.client()
    queue = gate(talk, port, b"a")
    client.say(published(b"a", b"1", b"2"))
    batch = port.take()

    assert batch is not None
    port.decide(batch, answer)
    talk.turn()
    assert [(problem, 2)] == [(event.problem, event.count) for event in talk.of(GateFailed)]
    assert 2 == queue.counters().failed == client.heard().count(b"undecided")


def test_a_port_that_stops_reading_holds_up_its_gate_alone_and_keeps_little(talk: Talk) -> None:
    port, hears, client = talk.core.open_port(), listener(talk), talk.client()
    queue = gate(talk, port, b"a", is_open=True, limit_s=1.0)
    large = b"x" * 200_000
    for round_ in range(50):
        client.say(published(b"a", large) * 2)
        talk.client().say(published(b"b", b"%d" % round_))
        assert [b"%d" % round_] == payloads(hears)
        talk.turn(1.1)
        assert [large, large] == payloads(hears)

    assert 100 == queue.counters().expired
    assert 0 == queue.counters().waiting_bytes
    held = []
    while (batch := port.take()) is not None:
        held.append(batch)
    assert 4 == len(held)


@pytest.mark.parametrize("is_open", [False, True])
def test_a_port_that_ends_leaves_its_gate_to_what_it_says(talk: Talk, is_open: bool) -> None:  # noqa: FBT001
    port, hears, client = talk.core.open_port(), listener(talk), talk.client()
    queue = gate(talk, port, b"a", is_open=is_open)
    client.say(published(b"a", b"1"))
    taken = port.take()
    client.say(published(b"a", b"2"))
    port.close()
    talk.turn()
    talk.turn()
    client.say(published(b"a", b"3"))
    talk.turn()

    assert ([b"1", b"2", b"3"] if is_open else []) == payloads(hears)
    assert 3 == queue.counters().failed
    assert {"has lost its port"} == {event.problem for event in talk.of(GateFailed)}
    assert taken is not None
    with pytest.raises(BrokenPipeError):
        port.decide(taken, b"")


def test_a_gate_of_a_port_that_has_ended_already(talk: Talk) -> None:
    port, hears, client = talk.core.open_port(), listener(talk), talk.client()
    talk.turn()
    port.close()
    talk.turn()
    gate(talk, port, b"a", is_open=True)
    client.say(published(b"a", b"1"))
    talk.turn()

    assert [b"1"] == payloads(hears)


def test_a_gate_passes_from_a_port_to_another_and_to_a_thread_of_its_own(talk: Talk) -> None:
    first, second, hears = talk.core.open_port(), talk.core.open_port(), listener(talk)
    clients = [talk.client() for _ in range(3)]
    one = gate(talk, first, b"a", tag=1)
    clients[0].say(published(b"a", b"1"))
    two = gate(talk, second, b"a", tag=2, replaces=one.id)
    clients[1].say(published(b"a", b"2"))
    three = talk.core.add_gate(0, b"a", replaces=two.id)
    talk.turn()
    clients[2].say(published(b"a", b"3"))

    assert [(2, b"a", b"2")] == decide(talk, second)
    assert [(1, b"a", b"1")] == decide(talk, first)
    number, batch = three.take() or (0, b"")
    talk.core.answer_gate(three.id, number, b"")
    assert 1 == len(batch)
    assert [b"2", b"1", b"3"] == payloads(hears)
    assert (one.is_closed, two.is_closed) == (True, True)


def test_a_client_that_leaves_waits_for_the_verdicts_of_a_port(talk: Talk) -> None:
    port, hears, client = talk.core.open_port(), listener(talk), talk.client()
    gate(talk, port, b"a")
    client.say(published(b"a", b"1", b"2"))
    talk.core.hang_up(client.link)
    talk.turn()

    assert [] == talk.of(Closed)
    decide(talk, port)
    assert [b"1", b"2"] == payloads(hears)
    assert [client.link] == [event.link for event in talk.of(Closed)]


def test_a_core_that_ends_with_messages_at_the_gate_of_a_port() -> None:
    talk = Talk()
    port = talk.core.open_port()
    queue = gate(talk, port, b"a", tag=1)
    for _ in range(3):
        talk.client().say(published(b"a", b"1", b"2"))
    batch = port.take()
    del talk, port
    gc.collect()

    assert batch is not None
    assert b"1" == bytes(batch.payload(0))
    assert 0 == queue.counters().messages % 2
