"""Taps and gates of a server in a cluster: what they draw across a route, what clients notice.

The wire between both servers is looked at. Ours has the plugin; the other one is ours or the real
server, which sends what it thinks is wanted here.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import nats
import nats.errors
import pytest

from framework.testing import OURS, TcpProxy, await_mesh, member_config
from tests.interop.conftest import REAL

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from framework.testing import Fleet, RawClient, ServerProcess

MESSAGES = 500
HIDDEN = 'advertise: "127.0.0.1:1", '
"""So that nobody finds a way around the proxy."""
CLUSTER = "pool_size: -1, compression: off"

PLUGIN = """
from framework import hookimpl
from framework.spec import PASS, GateSpec, MonitorEndpoint, Refuse, TapKind, TapSpec

seen = []


def decide(batch):
    return [Refuse() if batch.payload(at) == b"no" else PASS for at in range(len(batch))]


@hookimpl
def framework_gates(server):
    if "KIND" == "gate":
        yield GateSpec(name="mine", subject="tapped.>", decide=decide)


@hookimpl
def framework_taps(server):
    if "KIND" != "gate":
        kind = TapKind["KIND"]
        yield TapSpec(name="mine", subject="tapped.>", kind=kind, receive=seen.append)


@hookimpl
def framework_monitor_endpoints(server):
    async def answer(options):
        return {"seen": sum(len(batch) for batch in seen)}

    yield MonitorEndpoint(path="/seen", answer=answer)
"""


class World:
    """A server with a policy, another one, and the wire between them."""

    def __init__(self, fleet: Fleet, folder: Path, other: str, kind: str) -> None:
        plugin = folder / "mine.py"
        plugin.write_text(PLUGIN.replace("KIND", kind))
        config = member_config("other", cluster=CLUSTER)
        self.other: ServerProcess = fleet.start(
            kind=other, config=config, clustered=True, port=None
        )
        self.proxy = TcpProxy(self.other.cluster_port)
        self.proxy.__enter__()
        config = member_config("ours", routes=[self.proxy.port], cluster=HIDDEN + CLUSTER)
        self.ours = fleet.start("--plugin", str(plugin), config=config, clustered=True, port=None)
        await_mesh(self.ours, self.other)

    def publish(self, at: ServerProcess) -> None:
        """Publish messages at one server, and return when what goes to the other one is there."""
        to = self.ours if at is self.other else self.other
        with to.client() as hears, at.client() as client:
            for each in (hears, client):
                each.log_in(headers=True, no_responders=True)
            hears.send(b"SUB marker.* 1\r\n")
            hears.flush()
            client.await_interest(b"marker.try")
            client.send(b"PUB tapped.a 1\r\nx\r\n" * MESSAGES + b"PUB marker.end 0\r\n\r\n")
            hears.read_until(b"MSG marker.end")
            refused = [it.line for it in client.flush() if it.verb == b"-ERR"]
            assert refused == []

    def told(self) -> bytes:
        """Return what ours has told the other one."""
        return b"".join(bytes(it.dialed) for it in self.proxy.connections)

    def got(self) -> bytes:
        """Return what ours has got from the other one."""
        return b"".join(bytes(it.answered) for it in self.proxy.connections)


@pytest.fixture(params=[OURS, pytest.param(REAL, marks=pytest.mark.peer(REAL))])
def other(request: pytest.FixtureRequest) -> str:
    kind: str = request.param
    return kind


@pytest.fixture
def world(
    request: pytest.FixtureRequest, fleet: Fleet, tmp_path: Path, other: str
) -> Iterator[World]:
    made = World(fleet, tmp_path, other, request.param)
    yield made
    fleet.stop()
    made.proxy.__exit__()


def drawn(said: bytes) -> int:
    """Return how many messages on the tapped subject stand in what was said on the wire."""
    return said.count(b"RMSG $G tapped.a ") + said.count(b"HMSG $G tapped.a ")


@pytest.mark.parametrize("world", ["INGRESS", "UNHEARD", "gate"], indirect=True)
def test_a_tap_or_gate_draws_no_message_across_the_route(world: World) -> None:
    world.publish(world.other)
    world.publish(world.ours)

    assert (drawn(world.got()), drawn(world.told())) == (0, 0)
    assert b"tapped" not in world.told()
    assert b"RS+ $G marker" in world.told()


@pytest.mark.parametrize("world", ["SUBSCRIBER"], indirect=True)
def test_a_tap_that_is_a_subscriber_draws_them_all(world: World) -> None:
    world.publish(world.other)

    assert drawn(world.got()) == MESSAGES
    assert b"RS+ $G tapped.>" in world.told()


@pytest.mark.parametrize("world", ["INGRESS"], indirect=True)
def test_an_ingress_tap_sees_what_is_published_here_and_nothing_else(world: World) -> None:
    world.publish(world.other)
    world.publish(world.ours)
    with _listener(world.other) as hears:
        hears.flush()
        world.publish(world.ours)
        bodies = [it.body for it in hears.flush() if it.verb == b"MSG"]

    assert bodies == [b"x"] * MESSAGES
    assert drawn(world.told()) == MESSAGES
    assert world.ours.document("/seen") == {"seen": 2 * MESSAGES}


def _listener(server: ServerProcess) -> RawClient:
    client = server.client()
    client.log_in()
    client.send(b"SUB tapped.> 1\r\n")
    return client


async def _is_answered(url: str) -> bool:
    client = await nats.connect(url, allow_reconnect=False)
    try:
        await client.request("tapped.service", b"hi", timeout=10)
    except nats.errors.NoRespondersError:
        return False
    finally:
        await client.close()
    return True


@pytest.mark.parametrize("world", ["INGRESS", "UNHEARD", "gate"], indirect=True)
def test_a_request_that_nobody_serves_still_gets_its_503(world: World) -> None:
    assert asyncio.run(_is_answered(world.ours.url)) is False
    assert asyncio.run(_is_answered(world.other.url)) is False


@pytest.mark.parametrize("world", ["INGRESS", "UNHEARD", "gate"], indirect=True)
def test_a_request_that_the_other_server_serves_is_answered(world: World) -> None:
    async def session() -> bytes:
        server = await nats.connect(world.other.url)
        client = await nats.connect(world.ours.url)

        async def answer(message: nats.aio.msg.Msg) -> None:
            await message.respond(b"ho")

        await server.subscribe("tapped.service", cb=answer)
        await server.flush()
        try:
            while True:
                try:
                    return (await client.request("tapped.service", b"hi", timeout=10)).data
                except nats.errors.NoRespondersError:
                    continue  # the interest is on its way
        finally:
            await client.close()
            await server.close()

    assert asyncio.run(session()) == b"ho"
