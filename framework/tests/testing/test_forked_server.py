"""Servers that are forks: what of a process of its own they must have."""

from __future__ import annotations

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from framework.testing.fleet import OURS, Fleet
from framework.testing.forked_server import ForkedServer, can_fork
from framework.testing.server_process import ServerProcess

if TYPE_CHECKING:
    from framework.testing.pytest_plugin import StartServer

COMMAND = [str(word) for word in Fleet.program(OURS)]


@pytest.fixture(params=["", "1"], ids=["forked", "cold"])
def is_cold(request, monkeypatch) -> bool:
    monkeypatch.setenv("FRAMEWORK_COLD_STARTS", request.param)
    return bool(request.param)


def test_only_our_servers_are_forked_and_on_request_none(is_cold):
    assert can_fork([*COMMAND, "-p", "-1"]) is not is_cold
    assert not can_fork(["nats-server", "serve"])
    assert not can_fork([*COMMAND[:3], "run", "it.toml"])


@pytest.mark.usefixtures("is_cold")
def test_a_server_has_its_own_folder_and_environment(
    start_server: StartServer, monkeypatch, tmp_path: Path
):
    (tmp_path / "inner.conf").write_text("server_name: $THEIR_NAME\nhttp_port: -1")
    names = []
    for name in ("one", "two"):
        monkeypatch.setenv("THEIR_NAME", name)
        server = start_server("-c", "inner.conf")
        names.append(server.document("/varz")["server_name"])

    assert names == ["one", "two"]


@pytest.mark.usefixtures("is_cold")
def test_two_servers_have_nothing_in_common_by_chance(start_server: StartServer):
    varz = [start_server("-m", "-1").document("/varz") for _ in range(2)]

    assert varz[0]["server_id"] != varz[1]["server_id"]


@pytest.mark.usefixtures("is_cold")
def test_a_server_ends_with_its_code(tmp_path: Path):
    server = ServerProcess("bad", [*COMMAND, "-c", "missing.conf"], tmp_path)
    server.run()

    assert server.wait() == 1
    assert "missing.conf" in server.log()


@pytest.mark.usefixtures("is_cold")
def test_a_killed_server_tells_the_signal(start_server: StartServer):
    server = start_server()
    server.signal(signal.SIGKILL)

    assert server.wait() == -signal.SIGKILL
    server.signal(signal.SIGTERM)  # nobody has it


@pytest.mark.usefixtures("is_cold")
def test_exit_codes_are_right_while_others_start(start_server: StartServer):
    with ThreadPoolExecutor(8) as pool:
        servers = list(pool.map(lambda _: start_server(), range(8)))
        for server in servers:
            server.signal(signal.SIGTERM)
        codes = list(pool.map(lambda it: it.wait(), servers))

    assert codes == [0] * 8


def test_who_remembers_its_servers_keeps_no_descriptors_of_them(start_server: StartServer):
    start_server().stop()
    before = len(list(Path("/proc/self/fd").iterdir()))
    servers = [start_server() for _ in range(3)]
    for server in servers:
        server.stop()

    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_who_waits_too_short_is_told(tmp_path: Path):
    server = ForkedServer([*COMMAND, "-p", "-1"], tmp_path, {})
    with pytest.raises(subprocess.TimeoutExpired):
        server.wait(0.01)
    server.kill()

    assert server.wait(20.0) == -signal.SIGKILL
    server.stdout.close()


SCRIPT = """
import sys
from pathlib import Path
from framework.testing import Fleet

fleet = Fleet(Path(sys.argv[1]))
with fleet.start().client() as client:
    print(client.log_in()["version"])
fleet.stop()
"""


def test_a_script_is_not_run_again_by_its_servers(tmp_path: Path):
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, tmp_path / "script.py", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=True)

    assert len(done.stdout.splitlines()) == 1
