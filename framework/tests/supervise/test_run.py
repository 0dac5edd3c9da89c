"""The supervisor with real processes: piped, in a terminal, interrupted, killed."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import struct
import sys
import termios
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from framework.tests.supervise.running import Run, Runs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CLEAR_SCREEN = "\x1b[2J"
SCRIPT = Path(__file__).with_name("supervise_fakes.py")


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Run]]:
    """Return a starter of supervisors of fake servers."""
    with Runs() as runs:
        yield lambda *pairs, before=(): runs.start(
            *before, sys.executable, SCRIPT, tmp_path, *pairs
        )


def test_servers_come_up_and_one_interrupt_stops_them(start) -> None:
    run = start("a-1=steady", "b=steady")
    run.until("2/2 ready")
    assert any(
        line.startswith("a-1 ready client 127.0.0.1:5222 cluster 127.0.0.1:5248 pid ")
        for line in run.lines
    )
    run.interrupt()

    exit_status, logs = run.end()
    assert exit_status == 0
    assert {"a-1 stopped", "b stopped"} <= set(run.lines)
    assert sorted(logs.splitlines()) == ["a-1 | Server is ready", "b   | Server is ready"]


def test_terminate_stops_as_well(start) -> None:
    run = start("a=steady")
    run.until("1/1 ready")
    run.process.terminate()

    assert run.end()[0] == 0


@pytest.mark.parametrize("before", [[], ["nohup"]])
def test_hup_reloads_all_servers_and_stops_none(start, before) -> None:
    run = start("a=steady", "b=steady", before=before)
    run.until("2/2 ready")
    pids = run.pid_of("a"), run.pid_of("b")
    run.process.send_signal(signal.SIGHUP)
    run.until("reloaded: debug")
    run.until("reloaded: debug")

    assert {"a reloaded: debug", "b reloaded: debug"} <= set(run.lines)
    assert (run.pid_of("a"), run.pid_of("b")) == pids
    run.interrupt()
    assert run.end()[0] == 0


def test_signals_of_the_first_moment_are_not_lost(start) -> None:
    run = start("a=steady")
    pid = int(run.until("a starting pid").rpartition(" ")[2])
    for number in (signal.SIGUSR1, signal.SIGHUP):  # Python has not even begun there
        os.kill(pid, number)
    run.until("a reloaded: debug")
    run.interrupt()

    exit_status, logs = run.end()
    assert exit_status == 0
    assert "a | File log re-opened" in logs


def test_usr1_reopens_the_logs(start) -> None:
    run = start("a=steady")
    run.until("1/1 ready")
    run.process.send_signal(signal.SIGUSR1)
    for line in run.process.stderr:
        if line == "a | File log re-opened\n":
            break
    run.interrupt()

    assert run.end()[0] == 0


def test_usr2_drains_all_and_nobody_is_launched_again(start) -> None:
    run = start("a=steady", "b=steady")
    run.until("2/2 ready")
    run.process.send_signal(signal.SIGUSR2)

    assert run.end()[0] == 0
    assert {"a stopped", "b stopped"} <= set(run.lines)
    assert sum(" starting " in line for line in run.lines) == 2


def test_logs_go_to_a_folder_without_a_terminal_too(start, tmp_path: Path) -> None:
    run = start("--logs", "a=steady")
    run.until("1/1 ready")
    run.interrupt()

    assert run.end() == (0, "")
    assert (tmp_path / "logs" / "a.log").read_text() == "Server is ready\n"


def test_a_killed_server_comes_back(start) -> None:
    run = start("a=steady", "b=steady")
    run.until("2/2 ready")
    killed = run.pid_of("a")
    os.kill(killed, signal.SIGKILL)
    assert run.until("a down") == ("a down, next launch in 0.05 s: killed by SIGKILL")
    run.until("2/2 ready")

    assert run.pid_of("a") != killed
    assert run.lines[-1].endswith("restarts 1")
    run.interrupt()
    assert run.end()[0] == 0


def test_a_server_that_crashes_once_is_ready_in_the_end(start) -> None:
    run = start("a=crash_once")
    run.until("a down")
    run.until("1/1 ready")
    run.interrupt()

    assert run.end()[0] == 0


def test_a_crash_loop_ends_with_the_last_line_of_the_log(start) -> None:
    run = start("a=crash", "b=steady")

    exit_status, logs = run.end()
    assert exit_status == 1
    assert "a failed: exit status 3: cannot go on" in run.lines
    assert run.lines[-1] == "b stopped"
    assert logs.count("a | cannot go on") == 4


def test_a_refusal_is_final_at_once(start) -> None:
    run = start("a=refuse", "b=steady")

    exit_status, _ = run.end()
    assert exit_status == 1
    text = "a failed: exit status 1: port 5222 is taken by another process"
    assert text in run.lines


def test_garbage_on_the_status_channel_harms_nothing(start) -> None:
    run = start("a=garbage")
    run.until("a ready")
    run.interrupt()

    assert run.end()[0] == 0


def test_the_second_interrupt_kills_what_will_not_stop(start) -> None:
    run = start("a=stubborn", "b=hang")
    run.until("a ready")
    run.interrupt()
    run.until("a stopping")
    run.interrupt()

    assert run.end()[0] == 130


def test_servers_do_not_outlive_a_supervisor_that_is_killed(start) -> None:
    run = start("a=orphan", "b=orphan")
    run.until("2/2 ready")
    servers = [psutil.Process(run.pid_of(name)) for name in ("a", "b")]
    run.process.kill()
    run.end()

    gone, alive = psutil.wait_procs(servers, timeout=20)
    assert len(gone) == 2
    assert alive == []


def test_a_bug_of_the_supervisor_ends_the_run_and_is_told(start) -> None:
    run = start("--bug", "a=orphan")
    server = psutil.Process(int(run.until("a starting pid").rpartition(" ")[2]))

    exit_status, told = run.end()
    gone, _ = psutil.wait_procs([server], timeout=20)
    assert exit_status == 1  # as Python ends; the command line turns it into 70
    assert told.endswith("ZeroDivisionError: a bug\n")
    assert gone == [server]


def test_when_nobody_reads_the_status_all_is_stopped(start) -> None:
    run = start("a=orphan")
    run.until("1/1 ready")
    server = psutil.Process(run.pid_of("a"))
    run.process.stdout.close()
    os.kill(server.pid, signal.SIGKILL)  # something to tell

    assert run.process.stderr.read().count("Traceback") == 0
    run.process.stderr.close()
    assert run.process.wait() == 0


class Terminal:
    """A supervisor in a terminal of 120 columns."""

    def __init__(self, folder: Path, *pairs: str) -> None:
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
            # Not `execv`: readline, which pytest loads, writes COLUMNS behind Python's back.
            words = [sys.executable, str(SCRIPT), str(folder), *pairs]
            sizes = {"COLUMNS", "LINES"}  # pytest-xdist sets them: they would count
            environment = {name: it for name, it in os.environ.items() if name not in sizes}
            os.execve(sys.executable, words, environment | {"TERM": "xterm"})
        self.screen = ""

    def until(self, words: str) -> None:
        while words not in self.screen:
            data = self.read()
            if not data:
                pytest.fail(f"never shows {words!r}: {self.screen}")

    def read(self) -> str:
        with suppress(OSError):  # the other end is closed
            text = os.read(self.fd, 65_536).decode()
            self.screen += text
            return text
        return ""

    def press_ctrl_c(self) -> None:
        self.screen = ""
        os.write(self.fd, b"\x03")

    def end(self) -> int:
        while self.read():
            pass
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_terminal_shows_a_table_and_ctrl_c_stops_all(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, "a=steady", "b=crash_once")
    terminal.until("fakes: 2/2 ready")
    terminal.until("b: before: killed by SIGTERM: out of luck")
    terminal.screen = ""  # it is drawn anew each second
    terminal.until("fakes: 2/2 ready")
    terminal.until("127.0.0.1:5248")
    terminal.until(str(tmp_path / "logs"))
    terminal.press_ctrl_c()
    terminal.until("fakes: 0/2 ready")

    assert terminal.end() == 0
    assert (tmp_path / "logs" / "a.log").read_text() == "Server is ready\n"
    assert (tmp_path / "logs" / "b.log").read_text() == "out of luck\nServer is ready\n"


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_frame_of_another_size_is_cleared_away(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, "a=steady")
    terminal.until("fakes: 1/1 ready")
    assert CLEAR_SCREEN not in terminal.screen
    fcntl.ioctl(terminal.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 60, 0, 0))
    terminal.until(CLEAR_SCREEN)
    terminal.screen = ""
    terminal.until("fakes: 1/1 ready")
    assert CLEAR_SCREEN not in terminal.screen
    terminal.press_ctrl_c()

    assert terminal.end() == 0


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_terminal_that_is_closed_stops_all(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, "a=orphan")
    terminal.until("fakes: 1/1 ready")
    [server] = psutil.Process(terminal.pid).children()
    os.close(terminal.fd)

    assert os.waitstatus_to_exitcode(os.waitpid(terminal.pid, 0)[1]) == 0
    assert not server.is_running()
