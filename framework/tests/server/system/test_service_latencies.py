from __future__ import annotations

import json
import random
from typing import Any

import pytest

from framework.actors import ActorSystem, SimulatedDispatcher
from framework.server.system.limits import REMOTE_LATENCIES_MAX, REMOTE_LATENCY_KEPT_S
from framework.server.system.outbox import Outbox
from framework.server.system.remote_latencies import RemoteLatencies, RemoteLatency
from framework.server.system.service_latencies import ServiceLatencies
from framework.spec import (
    AccountSpec,
    LatencySampled,
    LatencySampling,
    ResponderTimed,
    ServiceExport,
)
from framework.wire.event_ids import EventIds


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


def publish(server: Any, *messages: object) -> list[tuple[str, Any]]:
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
        account_name=("$G", "A").__getitem__,
        outbox=Outbox(server, server.accounts),
        ids=EventIds(random.Random(1)),
        wall_ns=lambda: 1_700_000_000_000_000_000,
        monotonic_ns=lambda: 10_000,
    )
    for each in messages:
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


# ---- with two servers ----------------------------------------------------------------------------

REPLY = b"_R_.abcdef.123.NODE4567.T"


def remote_latency(**changes: Any) -> ServiceLatencies.RemoteLatencyArrived:
    document = {
        "account": "A",
        "req_id": REPLY.decode(),
        "m2": {"status": 200, "responder": {"name": "far", "rtt": 200}, "service": 3_000},
    }
    return ServiceLatencies.RemoteLatencyArrived(json.dumps(document | changes).encode())


def requestor_sample(token: int = 1, reply: bytes = REPLY) -> LatencySampled:
    return sample(token, responder=b"", responder_rtt_ns=0, reply=reply)


def test_sample_and_remote_latency_make_one_sample_whichever_comes_first(server: Any) -> None:
    documents = publish(
        server,
        requestor_sample(),
        remote_latency(),
        remote_latency(req_id="b"),
        requestor_sample(reply=b"b"),
    )

    assert [subject for subject, _ in documents] == ["latency.svc"] * 2
    for _, document in documents:
        assert document["requestor"] == {"acc": "B", "rtt": 300}
        assert document["responder"] == {"name": "far", "rtt": 200}
        # Of 8,000 here, the service took 3,000 and its way 200.
        assert (document["service"], document["system"]) == (3_000, 4_800)
        assert document["total"] == 8_300


def test_a_half_that_took_longer_than_the_whole_leaves_nothing_to_the_servers(server: Any) -> None:
    ((_, document),) = publish(server, requestor_sample(), remote_latency(m2={"service": 9_000}))

    assert (document["service"], document["system"]) == (9_000, 0)
    assert "responder" not in document


def test_one_half_is_not_published(server: Any) -> None:
    assert publish(server, requestor_sample()) == []
    assert publish(server, remote_latency(), remote_latency()) == []


def test_of_several_responders_the_first_one_counts(server: Any) -> None:
    later = remote_latency(m2={"service": 1, "responder": {"name": "later"}})
    ((_, document),) = publish(server, remote_latency(), later, requestor_sample(), later)

    assert document["responder"]["name"] == "far"


def test_latencies_of_different_requests_do_not_meet(server: Any) -> None:
    others = remote_latency(account="B"), remote_latency(req_id="_R_.abcdef.124.NODE4567.T")

    assert publish(server, requestor_sample(), *others, requestor_sample(token=3)) == []


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"{",
        b"[]",
        b"1",
        b"[" * 10_000,
        b'{"account":"A"}',
        b'{"account":1,"req_id":"_R_.abcdef.123.NODE4567.T","m2":{"service":1}}',
        b'{"account":"A","req_id":[],"m2":{"service":1}}',
        b'{"account":"A","req_id":"_R_.abcdef.123.NODE4567.T","m2":[]}',
        b'{"account":"A","req_id":"_R_.abcdef.123.NODE4567.T","m2":{}}',
        b'{"account":"A","req_id":"_R_.abcdef.123.NODE4567.T","m2":{"service":1e3}}',
        b'{"account":"A","req_id":"_R_.abcdef.123.NODE4567.T","m2":{"service":%d}}' % (1 << 63),
        b'{"account":"A","req_id":"_R_.abcdef.123.NODE4567.T","m2":{"service":1,"responder":[]}}',
        remote_latency(padding="x" * 16_384).payload,
    ],
)
def test_nonsense_of_other_servers_is_dropped(server: Any, payload: bytes) -> None:
    nonsense = ServiceLatencies.RemoteLatencyArrived(payload)
    documents = publish(server, nonsense, requestor_sample(), nonsense, remote_latency())

    assert len(documents) == 1


def test_the_half_of_a_responder_here_goes_to_the_server_that_asked(server: Any) -> None:
    timed = ResponderTimed(1, REPLY, 2_000, 9_000, 500, b'{"name":"svc","rtt":500}')
    ((subject, document),) = publish(server, timed)

    assert subject == "$SYS.LATENCY.M2.NODE4567"
    assert document == {
        "account": "A",
        "req_id": REPLY.decode(),
        "m2": {
            "type": "",
            "id": "",
            "timestamp": "0001-01-01T00:00:00Z",
            "status": 200,
            "responder": {"name": "svc", "rtt": 500},
            "start": "2023-11-14T22:13:19.999992Z",
            "service": 6_500,
            "system": 0,
            "total": 7_000,
        },
    }


def test_what_waits_for_another_half_has_a_limit_and_a_time() -> None:
    latencies = RemoteLatencies()
    late_ns = int(REMOTE_LATENCY_KEPT_S * 1e9)
    far = RemoteLatency({}, 0, 1)
    for at in range(REMOTE_LATENCIES_MAX + 1):
        assert latencies.take_remote_latency(("A", str(at)), far, now_ns=at) is None

    assert len(latencies) == REMOTE_LATENCIES_MAX
    assert latencies.take_sample("A", requestor_sample(reply=b"1"), REMOTE_LATENCIES_MAX) == (
        requestor_sample(reply=b"1"),
        far,
    )
    assert latencies.take_sample("A", requestor_sample(reply=b"0"), REMOTE_LATENCIES_MAX) is None
    assert (
        latencies.take_sample("A", requestor_sample(reply=b"2"), late_ns + REMOTE_LATENCIES_MAX)
        is None
    )
    assert len(latencies) == 1
