"""How long a service took whose requestor and responder are at different servers of a cluster."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from framework.testing.client import RawClient
    from framework.testing.server_process import ServerProcess

REAL = "2.15.2"
pytestmark = pytest.mark.peer("nats", REAL)

CONFIG = """
server_name: {name}
accounts {{
  A {{
    users: [{{user: a, password: a}}]
    exports: [{{service: svc, accounts: [B], latency: {{sampling: 100, subject: lat}}}}]
  }}
  B {{
    users: [{{user: b, password: b}}]
    imports: [{{service: {{account: A, subject: svc}}}}]
  }}
  $SYS {{ users: [{{user: s, password: s}}] }}
}}
cluster {{ name: east, listen: "127.0.0.1:-1", routes: [{routes}] }}
"""


def _client(server: ServerProcess, user: str, *subscriptions: bytes) -> RawClient:
    client = server.client()
    client.log_in(user=user, **{"pass": user}, name=f"client-{user}")
    client.send(b"".join(b"SUB %b\r\n" % line for line in subscriptions))
    client.flush()
    return client


def _await(server: ServerProcess, user: str, *subjects: bytes) -> None:
    """Wait until a server knows of interest in an account."""
    with _client(server, user) as client:
        for subject in subjects:
            client.await_interest(subject)


@pytest.fixture(autouse=True)
def system_connection(servers: list[ServerProcess]) -> None:
    """Wait for the connection of the system account, which may come later than the pool."""
    for here, there in (servers, servers[::-1]):
        with _client(there, "s") as client:
            server_id = str(client.info["server_id"]).encode()
        _await(here, "s", b"$SYS.REQ.SERVER.%b.VARZ" % server_id)


def _ask(requestor: RawClient, responder: RawClient) -> bytes:
    """Ask, answer, and return the subject of the answer."""
    requestor.send(b"PUB svc _I.1 0\r\n\r\n")
    reply = responder.read_until(b"HMSG svc 1 _R_.")[-1].line.split()[3]
    responder.send(b"PUB %b 2\r\nok\r\n" % reply)
    requestor.read_until(b"MSG _I.1 9 2")
    return reply


def _sample(watcher: RawClient) -> dict[str, Any]:
    """Return the next sample; what `_await` has sent by another connection may come before it."""
    body: bytes | None = b""
    while not body:
        body = watcher.read_until(b"MSG lat 5")[-1].body
    sample: dict[str, Any] = json.loads(body)
    return sample


def test_a_sample_tells_of_requestor_and_responder_though_they_are_at_different_servers(
    servers: list[ServerProcess],
) -> None:
    with (
        _client(servers[1], "a", b"svc 1") as responder,
        _client(servers[1], "a", b"lat 5") as watcher,
        _client(servers[1], "s", b"$SYS.LATENCY.M2.* 7") as system,
        _client(servers[0], "b", b"_I.* 9") as requestor,
    ):
        _await(servers[0], "a", b"svc", b"lat")
        responder.messages()
        watcher.messages()
        reply = _ask(requestor, responder)
        remote = system.read_until(b"MSG $SYS.LATENCY.M2.")[-1]
        sample = _sample(watcher)

        node, mark = reply.decode().split(".")[-2:]
        assert ("T", 8) == (mark, len(node))
        assert f"$SYS.LATENCY.M2.{node}" == remote.line.split()[1].decode()
        told = json.loads(remote.body or b"")
        _check_half(told, reply.decode())
        assert told["m2"]["responder"] == sample["responder"]
        _check_sample(sample, told["m2"])


def _check_half(told: dict[str, Any], reply: str) -> None:
    assert ["account", "req_id", "m2"] == list(told)
    assert ("A", reply) == (told["account"], told["req_id"])
    remote = told["m2"]
    assert [
        "type",
        "id",
        "timestamp",
        "status",
        "responder",
        "start",
        "service",
        "system",
        "total",
    ] == list(remote)
    assert ("", "", "0001-01-01T00:00:00Z") == (remote["type"], remote["id"], remote["timestamp"])
    assert (200, 0) == (remote["status"], remote["system"])
    assert remote["service"] == max(remote["total"] - remote["responder"].get("rtt", 0), 0)


def _check_sample(sample: dict[str, Any], remote: dict[str, Any]) -> None:
    assert [
        "type",
        "id",
        "timestamp",
        "status",
        "requestor",
        "responder",
        "start",
        "service",
        "system",
        "total",
    ] == list(sample)
    assert "io.nats.server.metric.v1.service_latency" == sample["type"]
    assert "B" == sample["requestor"]["acc"]
    responder = sample["responder"]
    assert ("A", "client-a", "S1", "east") == (
        responder["acc"],
        responder["name"],
        responder["server"],
        responder["cluster"],
    )
    assert remote["service"] == sample["service"]
    assert sample["total"] >= sample["service"] + sample["system"]


def test_each_request_is_sampled_once(servers: list[ServerProcess]) -> None:
    with (
        _client(servers[1], "a", b"svc 1") as responder,
        _client(servers[1], "a", b"lat 5") as watcher,
        _client(servers[0], "b", b"_I.* 9") as requestor,
    ):
        _await(servers[0], "a", b"svc", b"lat")
        responder.messages()
        watcher.messages()
        for _ in range(3):
            reply = _ask(requestor, responder)
            sample = _sample(watcher)
            assert "client-a" == sample["responder"]["name"]
            # A second answer is none.
            responder.send(b"PUB %b 2\r\nok\r\n" % reply)
        responder.flush()
        assert [] == [it for it in watcher.flush() if b"MSG lat" in it.line and it.body]
