"""`framework run` and `nats-server` with real servers."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from framework.cli.plugin_choice import PluginChoice
from framework.cli.run import server_command
from framework.supervise.run import default_log_folder
from framework.testing import free_port
from framework.tests.supervise.running import Run, Runs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TOPOLOGY = """
plugins = ["route"]
[clusters.main.servers.a]
port = {ports[0]}
cluster = {{ port = {ports[1]} }}
[clusters.main.servers.b]
port = {ports[2]}
cluster = {{ port = {ports[3]} }}
"""

FRAMEWORK = (sys.executable, "-m", "framework")
SERVE = (*FRAMEWORK, "serve", "-a", "127.0.0.1")


@pytest.fixture
def ports() -> list[int]:
    """Return four free ports."""
    return [free_port() for _ in range(4)]


@pytest.fixture
def start(tmp_path: Path, ports: list[int]) -> Iterator[Callable[..., Run]]:
    """Return a starter of a cluster of two servers."""
    file = tmp_path / "two.toml"
    file.write_text(TOPOLOGY.format(ports=ports))
    with Runs() as runs:
        yield lambda *words: runs.start(*FRAMEWORK, "run", file, *words)


def test_variables_of_a_topology_are_named_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PORT_A", str(free_port()))
    file = tmp_path / "one.toml"
    file.write_text(
        f'[clusters.c.servers.a]\nport = "$PORT_A"\ncluster = {{ port = {free_port()} }}\n'
    )
    with Runs() as runs:
        run = runs.start(*FRAMEWORK, "run", file)
        run.until("1/1 ready")
        run.interrupt()
        status, told = run.end()

    assert status == 0
    assert [it for it in told.splitlines() if it.startswith("framework:")] == [
        f"framework: {file}: read from the environment: $PORT_A"
    ]


def test_a_cluster_runs_heals_and_stops(start: Callable[..., Run], ports: list[int]) -> None:
    run = start()
    run.until("2/2 ready")
    run.until("a routes to b: pool 3/3, accounts $SYS, off, rtt ")
    address = f"client 127.0.0.1:{ports[0]} cluster 127.0.0.1:{ports[1]}"
    assert any(line.startswith(f"a ready {address} pid ") for line in run.lines)
    os.kill(run.pid_of("a"), signal.SIGKILL)
    run.until("a down")
    run.until("2/2 ready")
    run.until("a routes to b: pool 3/3, accounts $SYS, off, rtt ")
    run.interrupt()

    exit_status, logs = run.end()
    assert exit_status == 0
    assert run.lines[-2:] in (["a stopped", "b stopped"], ["b stopped", "a stopped"])
    assert "Traceback" not in logs


def test_routes_are_shown_as_they_come_and_go(tmp_path: Path) -> None:
    absent = free_port()
    file = tmp_path / "one.toml"
    file.write_text(
        'plugins = ["route"]\n[clusters.main.servers.a]\nport = -1\n'
        f'cluster = {{ port = -1, routes = ["nats://127.0.0.1:{absent}"], pool_size = 2 }}\n'
    )
    listen = ("-cluster", f"nats://127.0.0.1:{absent}", "-cluster_name", "main")
    with Runs() as runs:
        run = runs.start(*FRAMEWORK, "run", file)
        run.until(f"a no route to 127.0.0.1:{absent}")
        other = runs.start(*SERVE, "-p", "-1", "-n", "b", *listen)
        run.until("a routes to b: pool 3/3, accounts $SYS, off, rtt ")
        other.process.terminate()
        run.until(f"a no route to 127.0.0.1:{absent}")
        run.interrupt()

        assert run.end()[0] == 0
        assert other.end()[0] == 0


def test_a_port_that_is_taken_is_told_and_nothing_is_left_running(
    start: Callable[..., Run], ports: list[int]
) -> None:
    with socket.create_server(("127.0.0.1", ports[2])):
        run = start()
        exit_status, _ = run.end()

    assert exit_status == 1
    [line] = [line for line in run.lines if line.startswith("b failed")]
    assert f"127.0.0.1:{ports[2]}: address already in use" in line
    assert run.lines[-1] == "a stopped"


def test_servers_end_with_a_supervisor_that_is_killed(start: Callable[..., Run]) -> None:
    run = start()
    run.until("2/2 ready")
    servers = [psutil.Process(run.pid_of(name)) for name in ("a", "b")]
    run.process.kill()
    run.end()

    assert psutil.wait_procs(servers, timeout=20)[1] == []


def test_one_server_of_a_topology_runs_alone(start: Callable[..., Run]) -> None:
    run = start("--server", "b")
    assert run.process.stderr is not None
    log = ""
    while "Server is ready" not in log:
        log = run.process.stderr.readline()
    run.process.terminate()

    assert run.end()[0] == 0


def test_an_unknown_server_is_one_line(start: Callable[..., Run]) -> None:
    exit_status, errors = start("--server", "c").end()

    assert exit_status == 1
    assert errors.endswith('two.toml has no server "c": it has a, b\n')
    assert len(errors.splitlines()) == 1


def test_signal_stops_a_server_by_its_pid_file(tmp_path: Path) -> None:
    pid_file = tmp_path / "server.pid"
    with Runs() as runs:
        run = runs.start(*SERVE, "-p", "-1", "-P", pid_file)
        assert run.process.stderr is not None
        while "Server is ready" not in run.process.stderr.readline():
            pass
        subprocess.run([*FRAMEWORK, "serve", "--signal", f"quit={pid_file}"], check=True)

        assert run.end()[0] == 0
    assert not pid_file.exists()


def test_the_command_of_a_server_is_this_python(monkeypatch: pytest.MonkeyPatch) -> None:
    choice = PluginChoice(("audit",), ("route",), "extra")
    monkeypatch.setattr(sys, "path", ["/lib"])

    assert server_command("t.toml", "a", choice) == (
        *(sys.executable, "-P", "-m", "framework", "run", "t.toml", "--server", "a"),
        *("--plugin", "audit", "--no-plugin", "route", "--plugins-dir", "extra"),
    )
    monkeypatch.setattr(sys, "path", ["", "/lib"])
    assert "-P" not in server_command("t.toml", "a", PluginChoice())


def test_logs_go_where_programs_keep_such_things(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert default_log_folder("a/b") == Path("/state/framework/a_b")
    monkeypatch.setenv("XDG_STATE_HOME", "relative/is/ignored")
    assert default_log_folder("t") == Path.home() / ".local/state/framework/t"
