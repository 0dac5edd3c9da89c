"""`framework reload`, `drain`, `stop` and `start` with real servers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from framework.cli.signalling import running_servers
from framework.tests.supervise.running import Run, Runs

if TYPE_CHECKING:
    from collections.abc import Iterator

TOPOLOGY = """
plugins = []
[defaults]
port = -1
max_payload = 1000
[clusters.main.servers.a]
[clusters.other.servers.b]
"""

FRAMEWORK = (sys.executable, "-m", "framework")


@pytest.fixture(autouse=True)
def runtime_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return where control sockets go: `tmp_path` may be too long for one."""
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        yield Path(folder) / "framework"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a topology of two servers."""
    file = tmp_path / "two.toml"
    file.write_text(TOPOLOGY)
    return file


@pytest.fixture
def run(file: Path) -> Iterator[Run]:
    """Return a `framework run` with both servers ready."""
    with Runs() as runs:
        run = runs.start(*FRAMEWORK, "run", file)
        run.until("2/2 ready")
        yield run


def ask(*words: str | Path) -> tuple[int, list[str], list[str]]:
    """Return exit status, sorted lines of standard output, and those of standard error."""
    done = subprocess.run(
        [*FRAMEWORK, *map(str, words)], capture_output=True, text=True, check=False
    )
    return done.returncode, sorted(done.stdout.splitlines()), sorted(done.stderr.splitlines())


def test_a_reload_says_what_each_server_made_of_it(run: Run, file: Path) -> None:
    assert ask("reload", file) == (
        0,
        ["a reloaded, nothing has changed", "b reloaded, nothing has changed"],
        [],
    )
    file.write_text(TOPOLOGY.replace("1000", "2000") + "host = '127.0.0.2'\n")

    refusal = "b refused the reload: config reload not supported for host; restart the server"
    assert ask("reload", file) == (1, ["a reloaded: max_payload"], [refusal])
    run.until(refusal)
    assert ask("reload", file, "--server", "a") == (0, ["a reloaded, nothing has changed"], [])


def test_a_file_with_mistakes_is_refused_by_all_with_the_place(run: Run, file: Path) -> None:
    file.write_text(TOPOLOGY.replace("max_payload", "max_paylod"))

    exit_status, told, refused = ask("reload", file)
    assert exit_status == 1
    assert told == []
    assert len(refused) == 2
    assert f"{file}:5:1: " in refused[0]


def test_a_drained_server_stays_down_until_it_is_started(run: Run, file: Path) -> None:
    assert ask("drain", file, "--server", "a")[::2] == (0, [])
    run.until("a stopped")
    exit_status, [line], _ = ask("start", file, "--server", "a")
    assert exit_status == 0
    run.until("a ready")
    assert line == f"a is ready, pid {run.pid_of('a')}"
    assert "b down" not in " ".join(run.lines)


def test_a_server_that_is_told_directly_to_drain_stays_down(run: Run, file: Path) -> None:
    server = psutil.Process(run.pid_of("a"))
    os.kill(server.pid, signal.SIGUSR2)
    run.until("a stopped")

    assert ask("stop", file) == (0, ["a is stopped", "b is stopped"], [])
    assert run.end()[0] == 0
    assert sum("a starting" in line for line in run.lines) == 1


def test_stop_ends_the_run_and_leaves_no_socket(run: Run, file: Path, runtime_folder: Path) -> None:
    [socket] = runtime_folder.iterdir()
    assert socket.stat().st_mode & 0o777 == 0o600
    assert ask("stop", file) == (0, ["a is stopped", "b is stopped"], [])

    assert run.end()[0] == 0
    assert list(runtime_folder.iterdir()) == []


def test_a_server_that_is_not_there_is_named(run: Run, file: Path) -> None:
    assert ask("stop", file, "--server", "c") == (
        1,
        [],
        ["c is no server of this topology; it has a, b"],
    )


def test_where_nothing_runs_it_is_said_so(file: Path) -> None:
    problem = f"framework: nothing runs {file}; `framework run {file}` does, as the same user"
    assert ask("reload", file) == (1, [], [problem])


def test_a_socket_that_a_killed_supervisor_left_is_no_obstacle(
    run: Run, file: Path, runtime_folder: Path
) -> None:
    run.process.kill()
    run.end()
    [left] = runtime_folder.iterdir()
    assert ask("reload", file)[0] == 1
    with Runs() as runs:
        again = runs.start(*FRAMEWORK, "run", file)
        again.until("2/2 ready")

        assert ask("reload", file)[0] == 0
        assert left not in runtime_folder.iterdir()


def test_which_of_two_runs_is_meant_must_be_said(run: Run, file: Path) -> None:
    with Runs() as runs:
        runs.start(*FRAMEWORK, "run", file).until("2/2 ready")
        exit_status, _, [problem] = ask("reload", file)

    assert exit_status == 1
    assert f"{file} is run 2 times, by the processes " in problem


def test_signal_finds_what_a_supervisor_has_started(run: Run) -> None:
    assert {run.pid_of("a"), run.pid_of("b")} <= set(running_servers())
    assert run.process.pid not in running_servers()


def test_log_files_are_opened_anew_after_they_were_moved(file: Path, tmp_path: Path) -> None:
    with Runs() as runs:
        run = runs.start(*FRAMEWORK, "run", file, "--log-dir", tmp_path / "logs")
        run.until("2/2 ready")
        log, moved = tmp_path / "logs" / "a.log", tmp_path / "a.log.1"
        log.rename(moved)
        run.process.send_signal(signal.SIGUSR1)
        while not (log.exists() and "File log re-opened" in log.read_text()):
            os.sched_yield()
        run.interrupt()

        assert run.end() == (0, "")
    assert "Server is ready" in moved.read_text()
    assert "Server Exiting.." in log.read_text()
