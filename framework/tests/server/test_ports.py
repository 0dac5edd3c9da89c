"""Ports of plugins, in whole servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from framework.testing.pytest_plugin import StartServer
    from framework.testing.server_process import ServerProcess

ECHO = """
import select
import threading
from framework.hookspecs import hookimpl
from framework.spec import *

threads = []

def serve(port, account):
    while not port.has_ended:
        select.select([port], [], [])
        answers = port.outgoing()
        while batch := port.take():
            for at in range(len(batch)):
                reply, payload = bytes(batch.reply(at)), bytes(batch.payload(at))
                answers.add(account, reply, b"%d:%b" % (batch.tag(at), payload))
        if len(answers) and not port.has_ended:
            port.publish(answers)

@hookimpl
def framework_ports(server):
    account = server.account_number(GLOBAL_ACCOUNT)

    def start(port):
        port.subscribe(account, b"echo.>", b"echoes", tag=7)
        port.subscribe(account, b"other", tag=8)
        threads.append(threading.Thread(target=serve, args=(port, account)))
        threads[0].start()

    def stop():
        threads[0].join()

    yield PortSpec(name="echo", start=start, stop=stop)
"""


@pytest.fixture
def server(start_server: StartServer, tmp_path: Path) -> ServerProcess:
    plugins = tmp_path / "plugins"
    plugins.mkdir(mode=0o700)
    (plugins / "echo.py").write_text(ECHO)
    return start_server("--plugins-dir", str(plugins), "-m", "-1")


def test_the_first_request_is_answered_already(server: ServerProcess) -> None:
    with server.client() as client:
        client.log_in(headers=True, no_responders=True)
        client.send(b"SUB inbox 1\r\nPUB echo.a inbox 2\r\nhi\r\nPUB other inbox 2\r\nho\r\n")
        answers = [it.body for it in client.read_until(b"MSG") if it.body]
        while len(answers) < 2:
            answers += [it.body for it in client.read_until(b"MSG") if it.body]

    assert answers == [b"7:hi", b"8:ho"]


LATE = """
import asyncio, pathlib
from framework import hookimpl
from framework.spec import PortSpec

async def bring_back(server, port):
    name = pathlib.Path(server.config.values["pid_file"])
    for _ in range(50):
        await asyncio.sleep(0)
    assert not name.exists(), "it is ready before this port"
    port.subscribe(0, b"late", tag=1)

@hookimpl
def framework_ports(server):
    yield PortSpec(name="late", start=lambda port: bring_back(server, port), stop=lambda: None)
"""


def test_nobody_connects_before_a_port_is_ready(start_server: StartServer, tmp_path: Path) -> None:
    plugins = tmp_path / "plugins"
    plugins.mkdir(mode=0o700)
    (plugins / "late.py").write_text(LATE)
    server = start_server("--plugins-dir", str(plugins), "-P", str(tmp_path / "pid"))

    with server.client() as client:
        client.log_in(headers=True, no_responders=True)
        client.send(b"SUB inbox 1\r\nPUB late inbox 0\r\n\r\nPING\r\n")
        assert [] == [it for it in client.read_until(b"PONG") if it.body]


def test_a_server_stops_its_ports_and_shows_them(server: ServerProcess) -> None:
    (found,) = [it for it in server.document("/pluginz")["plugins"] if it["name"] == "echo"]

    assert found["ports"] == [{"name": "echo", "dropped": 0}]
    server.stop()
    assert "did not stop" not in server.log()


LEAVING = """
from framework.hookspecs import hookimpl
from framework.spec import *

@hookimpl
def framework_ports(server):
    ports = []

    async def leave():
        last = ports[0].outgoing()
        last.add(server.account_number(GLOBAL_ACCOUNT), b"last", b"words")
        ports[0].publish(last)

    yield PortSpec(name="leaving", start=ports.append, stop=lambda: None, leave=leave)
"""


def test_clients_get_the_last_that_a_port_says(start_server: StartServer, tmp_path: Path) -> None:
    plugins = tmp_path / "plugins"
    plugins.mkdir(mode=0o700)
    (plugins / "leaving.py").write_text(LEAVING)
    server = start_server("--plugins-dir", str(plugins))
    with server.client() as client:
        client.log_in()
        client.send(b"SUB last 1\r\n")
        client.flush()
        server.stop()
        heard = client.read_until(b"MSG")[-1]

    assert heard.body == b"words"
