from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import cramjam
import pytest

from framework.actors import ActorSystem, SimulatedDispatcher
from framework.server.system.message_traces import MessageTraces, headers_of
from framework.server.system.outbox import Outbox
from framework.spec import LinkKind, MessageTraced, StepKind, TraceFault, TraceStep

if TYPE_CHECKING:
    from framework.server.system.server_stamp import ServerStamp

WHEN = "2023-11-14T22:13:19.99999Z"
"""10 microseconds before the stamp's time."""
HEADER = b"NATS/1.0\r\nNats-Trace-Dest: here\r\nkey:  a \r\nkey:b\r\nempty: \r\n\r\n"


def traced(*steps: TraceStep, **changes: Any) -> MessageTraced:
    fields: dict[str, Any] = {
        "link": 5,
        "kind": LinkKind.CLIENT,
        "cid": 9,
        "account": 1,
        "destination": b"here",
        "subject": b"s.a",
        "header": HEADER,
        "refused": b"",
        "size": 77,
        "hops": 0,
        "at_ns": 5_000,
        "fault": TraceFault.NONE,
        "steps": steps,
    }
    return MessageTraced(**{**fields, **changes})


def step(kind: StepKind, **changes: Any) -> TraceStep:
    fields: dict[str, Any] = {
        "account": None,
        "subject": b"",
        "other": b"",
        "hop": b"",
        "link": 0,
        "link_kind": LinkKind.CLIENT,
        "cid": 0,
        "fault": TraceFault.NONE,
    }
    return TraceStep(kind, **{**fields, **changes})


@pytest.fixture
def publish(server: Any, stamp: ServerStamp) -> Any:
    def run(*messages: object) -> list[Any]:
        dispatcher = SimulatedDispatcher(seed=1)
        system = ActorSystem(dispatcher, name="test")
        actor = system.spawn(
            MessageTraces,
            name="traces",
            stamp=stamp,
            account_name={1: "A", 2: "B"}.__getitem__,
            link_name=lambda link, kind: {
                (5, LinkKind.CLIENT): "me",
                (7, LinkKind.ROUTE): "S2",
            }.get((link, kind), ""),
            outbox=Outbox(server, server.accounts),
            monotonic_ns=lambda: 15_000,
        )
        for each in messages:
            actor.tell(each)
        dispatcher.run_ready()
        system.stop(5.0)
        dispatcher.run_ready()
        published: list[Any] = server.published
        return published

    return run


def events(publish: Any, *steps: TraceStep, **changes: Any) -> list[dict[str, Any]]:
    """Return the events of one trace."""
    ((_, (_, _, _, payload)),) = publish(traced(*steps, **changes))
    found: list[dict[str, Any]] = json.loads(payload)["events"]
    return found


def test_a_trace_is_published_in_the_account_of_its_message(publish: Any) -> None:
    ((account, (subject, reply, header, payload)),) = publish(traced(hops=2))
    document = json.loads(payload)

    assert (1, b"here", b"", b"") == (account, subject, reply, header)
    assert ["server", "request", "hops", "events"] == list(document)
    assert ("n1", 1) == (document["server"]["name"], document["server"]["seq"])
    assert {
        "header": {"Nats-Trace-Dest": ["here"], "key": ["a", "b"]},
        "msgsize": 77,
    } == document["request"]
    assert 2 == document["hops"]
    assert [
        {"type": "in", "ts": WHEN, "kind": 0, "cid": 9, "name": "me", "acc": "A", "subj": "s.a"}
    ] == document["events"]


def test_what_was_sent_nowhere_has_no_hops(publish: Any) -> None:
    ((_, (_, _, _, payload)),) = publish(traced())

    assert "hops" not in json.loads(payload)


def test_each_step_in_nats_servers_words(publish: Any) -> None:
    steps = [
        step(StepKind.MAPPED, subject=b"t"),
        step(StepKind.STREAM, account=2, subject=b"mine"),
        step(StepKind.SERVICE, account=2, subject=b"help", other=b"svc"),
        step(StepKind.SENT, link=5, cid=9, subject=b"svc", other=b"q", account=2),
        step(StepKind.SENT, link=7, cid=3, link_kind=LinkKind.ROUTE, hop=b"1"),
    ]

    assert [
        {"type": "sm", "ts": WHEN, "to": "t"},
        {"type": "se", "ts": WHEN, "acc": "B", "to": "mine"},
        {"type": "si", "ts": WHEN, "acc": "B", "from": "help", "to": "svc"},
        {
            "type": "eg",
            "ts": WHEN,
            "kind": 0,
            "cid": 9,
            "name": "me",
            "acc": "B",
            "sub": "svc",
            "queue": "q",
        },
        {"type": "eg", "ts": WHEN, "kind": 1, "cid": 3, "name": "S2", "hop": "1"},
    ] == events(publish, *steps)[1:]


@pytest.mark.parametrize("fault", [it for it in TraceFault if it < TraceFault.PUBLISH])
def test_every_fault_has_its_text(publish: Any, fault: TraceFault) -> None:
    (_, sent) = events(publish, step(StepKind.SENT, fault=fault))

    assert ("error" in sent) == (fault is not TraceFault.NONE)


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        (TraceFault.PUBLISH, 'Permissions Violation for Publish to "a\\"b"'),
        (TraceFault.REPLY, 'Permissions Violation for Publish with Reply of "a\\"b"'),
    ],
)
def test_a_refused_word_is_named(publish: Any, fault: TraceFault, text: str) -> None:
    (came,) = events(publish, fault=fault, refused=b'a"b')

    assert text == came["error"]


def test_who_takes_snappy_gets_it(publish: Any) -> None:
    header = HEADER[:-2] + b"Accept-Encoding: snappy\r\n\r\n"
    steps = [step(StepKind.SENT, link=5, cid=9, subject=b"some.subject")] * 100
    ((_, (_, _, encoding, payload)),) = publish(traced(*steps, header=header))

    assert b"NATS/1.0\r\nContent-Encoding: snappy\r\n\r\n" == encoding
    assert 101 == len(json.loads(bytes(cramjam.snappy.decompress(payload)))["events"])


def test_other_messages_are_not_its_business(publish: Any) -> None:
    assert [] == publish("something else")


def test_odd_header_blocks_are_read_as_far_as_they_go() -> None:
    assert {} == headers_of(b"")
    assert {"a": ["1"]} == headers_of(b"NATS/1.0 503 No\r\na:1\r\nb\r\n:c\r\n\r\n")
