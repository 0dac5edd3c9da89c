from __future__ import annotations

import random
from typing import Any

import pytest

from framework.actors import ActorSystem, SimulatedDispatcher
from framework.server.system.event_ids import EventIds
from framework.server.system.outbox import Outbox
from framework.server.system.service_latencies import ServiceLatencies
from framework.spec import AccountSpec, LatencySampled, LatencySampling, ServiceExport


def sample(token: int = 1, **changes: Any) -> LatencySampled:
    fields: dict[str, Any] = {
        "token": token,
        "status": 200,
        "started_ns": 1_000,
        "ended_ns": 9_000,
        "requestor_rtt_ns": 300,
        "responder_rtt_ns": 500,
        "requestor": b'{"acc":"B","rtt":300}',
        "responder": b'{"acc":"A","name":"svc","rtt":500}',
        "header": b"",
    }
    return LatencySampled(**{**fields, **changes})


def publish(server: Any, *samples: LatencySampled) -> list[tuple[str, Any]]:
    sampling = LatencySampling(subject="latency.svc")
    exports = (ServiceExport(subject="svc", latency=sampling), ServiceExport(subject="plain"))
    server.accounts.specs["A"] = AccountSpec(name="A", service_exports=exports)
    dispatcher = SimulatedDispatcher(seed=1)
    system = ActorSystem(dispatcher, name="test")
    services = {1: ("A", "svc"), 2: ("A", "plain"), 3: ("GONE", "svc")}
    actor = system.spawn(
        ServiceLatencies,
        name="latencies",
        accounts=server.accounts,
        service_of=services.get,
        outbox=Outbox(server, server.accounts),
        ids=EventIds(random.Random(1)),
        wall_ns=lambda: 1_700_000_000_000_000_000,
        monotonic_ns=lambda: 10_000,
    )
    for each in samples:
        actor.tell(each)
    dispatcher.run_ready()
    system.stop(5.0)
    dispatcher.run_ready()
    documents: list[tuple[str, Any]] = server.documents()
    return documents


def test_a_sample_is_published_where_the_export_says(server: Any) -> None:
    ((subject, document),) = publish(server, sample())
    document.pop("id")

    assert subject == "latency.svc"
    assert server.published[0][0] == 1
    assert list(document.items()) == [
        ("type", "io.nats.server.metric.v1.service_latency"),
        ("timestamp", "2023-11-14T22:13:20Z"),
        ("status", 200),
        ("requestor", {"acc": "B", "rtt": 300}),
        ("responder", {"acc": "A", "name": "svc", "rtt": 500}),
        ("start", "2023-11-14T22:13:19.9999907Z"),
        ("service", 7_500),
        ("system", 0),
        ("total", 8_300),
    ]


@pytest.mark.parametrize(
    ("status", "description"),
    [
        (400, "Bad Request"),
        (408, "Request Timeout"),
        (503, "Service Unavailable"),
        (504, "Service Timeout"),
    ],
)
def test_what_was_not_answered(server: Any, status: int, description: str) -> None:
    ((_, document),) = publish(server, sample(status=status, requestor=b"", responder=b""))

    assert (document["status"], document["description"]) == (status, description)
    assert (document["service"], document["total"]) == (0, 0)
    assert {"requestor", "responder"}.isdisjoint(document)


def test_a_request_that_asked_for_it_is_told_by_which_header(server: Any) -> None:
    block = b"NATS/1.0\r\nUber-Trace-Id: 1:2:3:1\r\nOther: x\r\n\r\n"
    ((_, document),) = publish(server, sample(header=block))

    assert document["header"] == {"Uber-Trace-Id": ["1:2:3:1"]}


def test_an_answer_faster_than_its_way_took_no_time(server: Any) -> None:
    ((_, document),) = publish(server, sample(responder_rtt_ns=1_000_000))

    assert document["service"] == 0


def test_samples_that_nobody_wants_any_more_are_dropped(server: Any) -> None:
    assert publish(server, sample(2), sample(3), sample(4)) == []
