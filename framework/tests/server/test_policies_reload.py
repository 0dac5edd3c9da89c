"""Gates and taps that a reload adds, changes and takes away, in servers with clients."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

import pytest

from framework.testing import await_answer

if TYPE_CHECKING:
    from pathlib import Path

    from framework.testing import ServerProcess, StartServer

PLUGIN = """
import select
import threading
from typing import Annotated

from framework import hookimpl
from framework.spec import *
from framework.topology import Reload, Setting, section_of
from msgspec import Struct

threads = []
go_on = threading.Event()
seen = []


Text = Annotated[str, Setting(help="It", reload=Reload.LIVE)]
Flag = Annotated[bool, Setting(help="It", reload=Reload.LIVE)]


class Mine(Struct, frozen=True):
    gate: Text = ""
    mark: Text = "1"
    order: Annotated[int, Setting(help="It", reload=Reload.LIVE)] = 0
    port: Flag = False
    slow: Flag = False
    tap: Text = ""
    broken: Flag = False
    unknown: Flag = False


def marked(batch, mark):
    return [Rewrite(payload=bytes(batch.payload(at)) + mark.encode()) for at in range(len(batch))]


def serve(port, mark):
    while not port.has_ended:
        select.select([port], [], [])
        while batch := port.take():
            port.decide(batch, marked(batch, "port"))


@hookimpl
def framework_config_sections():
    yield section_of(Mine, name="mine", help="What is tried", reload=Reload.LIVE)


@hookimpl
def framework_ports(server):
    def start(port):
        threads.append(threading.Thread(target=serve, args=(port, "port")))
        threads[0].start()

    yield PortSpec(name="port", start=start, stop=lambda: threads[0].join())


@hookimpl
def framework_gates(server):
    config = server.config.section_as(Mine) or Mine()
    if config.broken:
        raise ZeroDivisionError("no luck")

    def decide(batch):
        if config.slow:
            go_on.wait()
        return marked(batch, config.mark)

    if config.gate:
        how = {"port": "port"} if config.port else {"decide": decide}
        if config.unknown:
            how = {"port": "nowhere"}
        yield GateSpec(
            name="mine", subject=config.gate, order=config.order, time_limit_s=20.0, **how
        )


@hookimpl
def framework_taps(server):
    config = server.config.section_as(Mine) or Mine()
    if config.tap:
        yield TapSpec(
            name="mine", subject=config.tap, kind=TapKind.INGRESS,
            receive=lambda batch: seen.extend(message[3] for message in batch.detach()),
        )


@hookimpl
def framework_monitor_endpoints(server):
    async def answer(options):
        return {"seen": [payload.decode() for payload in seen]}

    async def let_go(options):
        go_on.set()
        return {}

    yield MonitorEndpoint(path="/seen", answer=answer)
    yield MonitorEndpoint(path="/let_go", answer=let_go)
"""


class World:
    """A server, and a file that its gates and taps follow."""

    def __init__(self, start: StartServer, folder: Path) -> None:
        self._config = folder / "it.conf"
        plugin = folder / "mine.py"
        plugin.write_text(PLUGIN)
        self.reload_count = 0
        self.write("")
        flags = ("-c", str(self._config), "--plugin", str(plugin), "-m", "-1")
        self.server: ServerProcess = start(*flags, port=None)

    def write(self, block: str) -> None:
        self._config.write_text(f"port: -1\nserver_name: s\n{block}\n")

    def begin_reload(self, block: str) -> None:
        self.write(block)
        self.server.signal(signal.SIGHUP)
        self.reload_count += 1

    def reload(self, block: str) -> None:
        """Return when all of it is in force."""
        self.begin_reload(block)
        self.server.wait_log("Reloaded server configuration", count=self.reload_count)

    def gates(self) -> list[dict[str, Any]]:
        plugins = self.server.document("/pluginz")["plugins"]
        return [gate for plugin in plugins for gate in plugin["gates"]]

    def heard(self, *payloads: bytes, subject: bytes = b"a.b") -> list[bytes]:
        with self.server.client() as client:
            client.log_in()
            client.send(b"SUB %b 1\r\n" % subject)
            client.flush()
            for payload in payloads:
                client.send(b"PUB %b %d\r\n%b\r\n" % (subject, len(payload), payload))
            return [it.body or it.line for it in client.flush()]

    def seen(self, count: int) -> list[str]:
        """What the tap has got, at least `count`: it hears on a thread of its own."""
        found: dict[str, list[str]] = await_answer(
            self.server, lambda: self.server.document("/seen"), lambda it: len(it["seen"]) >= count
        )
        return found["seen"]


@pytest.fixture
def world(start_server: StartServer, tmp_path: Path) -> World:
    return World(start_server, tmp_path)


def test_a_reload_adds_changes_and_removes_a_gate(world: World) -> None:
    assert [b"x"] == world.heard(b"x")
    world.reload("mine { gate: a.b }")
    assert [b"x1"] == world.heard(b"x")
    world.reload("mine { gate: a.b, mark: two }")
    assert [b"xtwo"] == world.heard(b"x")
    assert [2] == [it["messages"] for it in world.gates()]
    world.reload("mine { gate: 'a.>', mark: three, order: 7 }")
    assert [b"xthree"] == world.heard(b"x")
    assert [("a.>", 7, 1)] == [(it["subject"], it["order"], it["messages"]) for it in world.gates()]
    world.reload("mine { gate: 'a.>', port: true }")
    assert [b"xport"] == world.heard(b"x")
    assert ["port"] == [it["port"] for it in world.gates()]
    world.reload("mine { gate: 'a.>' }")
    assert [b"x1"] == world.heard(b"x")
    world.reload("")
    assert [b"x"] == world.heard(b"x")
    assert [] == world.gates()
    world.server.stop()
    assert "did not stop" not in world.server.log()


def test_no_message_is_lost_or_out_of_order_while_gates_change(world: World) -> None:
    blocks = [
        "mine { gate: 'a.>' }",
        "mine { gate: 'a.>', port: true }",
        "",
        "mine { gate: a.b, order: 3 }",
        "mine { gate: '>', mark: two }",
    ]
    with world.server.client() as hears, world.server.client() as client:
        hears.log_in()
        hears.send(b"SUB a.b 1\r\n")
        hears.flush()
        client.log_in()
        client.flush()
        sent = 0
        for block in [*blocks, *blocks]:
            world.begin_reload(block)
            while world.server.log().count("Reloaded server configuration") < world.reload_count:
                client.send(b"".join(b"PUB a.b 6\r\n%06d\r\n" % (sent + at) for at in range(500)))
                assert [] == client.flush()
                sent += 500
        got = [hears.read().body or b"" for _ in range(sent)]

    assert [b"%06d" % at for at in range(sent)] == [it[:6] for it in got]
    assert {b"", b"1", b"two", b"port"} == {it[6:] for it in got}


def test_what_waits_at_a_gate_that_goes_is_decided_by_it(world: World) -> None:
    world.reload("mine { gate: a.b, slow: true, mark: old }")
    with world.server.client() as client:
        client.log_in()
        client.send(b"SUB a.b 1\r\nPUB a.b 1\r\nx\r\nPUB a.b 1\r\ny\r\n")
        client.send(b"PUB c 0\r\n\r\nPUB a.b 1\r\nz\r\n")
        await_answer(world.server, world.gates, lambda it: it[0]["waiting_bytes"] > 0)
        world.reload("mine { gate: 'a.*', mark: new }")
        world.server.document("/let_go")

        assert [b"xold", b"yold", b"znew"] == [
            it.body for it in client.flush() if it.verb == b"MSG"
        ]


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGUSR2])
def test_a_server_ends_with_messages_at_the_gate_of_a_port(
    world: World, ending: signal.Signals
) -> None:
    world.reload("mine { gate: 'a.>', port: true }")
    with world.server.client() as hears, world.server.client() as client:
        hears.log_in()
        hears.send(b"SUB a.b 1\r\n")
        hears.flush()
        client.log_in()
        client.send(b"PUB a.b 1\r\nx\r\n" * 1000)
        assert [] == [it for it in client.flush() if it.verb == b"-ERR"]
        world.server.signal(ending)
        bodies = [it.body for it in hears.read_to_end() if it.verb == b"MSG"]

    assert [b"xport"] * 1000 == bodies
    assert "did not stop" not in world.server.log()
    assert "has lost its port" not in world.server.log()


def test_a_reload_with_a_gate_that_can_not_be_leaves_all_as_it_was(world: World) -> None:
    world.reload("mine { gate: a.b, tap: a.b }")
    world.begin_reload("mine { gate: a.b, broken: true }")
    world.server.wait_log("Failed to reload server configuration")
    assert [b"x1"] == world.heard(b"x")
    world.begin_reload("mine { gate: a.b, unknown: true }")
    world.server.wait_log("its plugin has no port nowhere")

    assert [b"x1"] == world.heard(b"x")
    assert ["x1", "x1"] == world.seen(2)
    assert "plugin mine" in world.server.log()


def test_a_tap_follows_a_reload_and_gets_each_message_once(world: World) -> None:
    blocks = [
        "mine { tap: a.b }",
        "mine { tap: 'a.>' }",
        "mine { tap: '>' }",
        "mine { tap: 'a.*' }",
    ]
    world.reload(blocks[0])
    with world.server.client() as client:
        client.log_in()
        client.flush()
        sent = 0
        for block in blocks[1:]:
            world.begin_reload(block)
            while world.server.log().count("Reloaded server configuration") < world.reload_count:
                client.send(b"PUB a.b 4\r\n%04d\r\n" % sent)
                assert [] == client.flush()
                sent += 1
    expected = [f"{at:04d}" for at in range(sent)]

    assert expected == world.seen(sent)
    world.reload("")
    world.heard(b"last")
    assert expected == world.seen(sent)
