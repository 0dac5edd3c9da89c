"""`--signal`: which process gets which signal; no real one does here."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from framework.cli.errors import CommandError
from framework.cli.signalling import send_signal

if TYPE_CHECKING:
    from pathlib import Path


class Kills:
    def __init__(self, *running: int) -> None:
        self.running = running
        self.sent: list[tuple[int, int]] = []

    def __call__(self, words: str) -> list[tuple[int, int]]:
        send_signal(words, find_pids=lambda: self.running, kill=self.kill)
        return self.sent

    def kill(self, pid: int, number: int) -> None:
        if pid not in self.running:
            raise ProcessLookupError(3, "No such process")
        self.sent.append((pid, number))


@pytest.mark.parametrize(
    ("command", "number"),
    [
        ("ldm", signal.SIGUSR2),
        ("stop", signal.SIGKILL),
        ("quit", signal.SIGINT),
        ("term", signal.SIGTERM),
        ("reopen", signal.SIGUSR1),
        ("reload", signal.SIGHUP),
    ],
)
def test_commands_are_signals(command: str, number: int) -> None:
    assert Kills(77)(f"{command}=77") == [(77, number)]


def test_a_pid_file_names_the_process(tmp_path: Path) -> None:
    (tmp_path / "pid").write_text("77\n")

    assert Kills(77)(f"term={tmp_path / 'pid'}") == [(77, signal.SIGTERM)]


def test_without_a_pid_there_must_be_one_server() -> None:
    assert Kills(77)("term") == [(77, signal.SIGTERM)]
    with pytest.raises(CommandError, match=r"^no nats-server processes running: name one by"):
        Kills()("term")
    with pytest.raises(CommandError, match=r"^multiple nats-server processes running:\n77\n78$"):
        Kills(77, 78)("term")


def test_a_star_names_all_that_begin_so() -> None:
    assert [pid for pid, _ in Kills(123, 124, 200)("term=12*")] == [123, 124]
    assert [pid for pid, _ in Kills(123, 200)("term=*")] == [123, 200]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("explode=77", 'unknown signal "explode": one of ldm, stop, quit, term, reopen, reload'),
        ("", 'unknown signal ""'),
        ("term=77=78", "invalid signal parameters: 78"),
        ("term=abc", "invalid pid: abc"),
        ("term=0", "invalid pid: 0"),
        ("term=-1", "invalid pid: -1"),
        ("term=\u0667", "invalid pid: \u0667"),
        ("term=99", 'signal "term" 99: no such process'),
    ],
)
def test_what_cannot_be_done_is_said(words: str, text: str) -> None:
    kills = Kills(77)
    with pytest.raises(CommandError) as caught:
        kills(words)

    assert str(caught.value).startswith(text)
    assert kills.sent == []


WAITS_FOR_USR2 = """
import signal
import subprocess
import sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})
print("ready", flush=True)
print(signal.sigwaitinfo({signal.SIGUSR2}).si_pid)
"""


def test_a_real_signal_reaches_a_real_process() -> None:
    # Not this one: a test runner may have threads that do not hold the signal.
    with subprocess.Popen([sys.executable, "-c", WAITS_FOR_USR2], stdout=subprocess.PIPE) as it:
        try:
            assert it.stdout
            assert it.stdout.readline() == b"ready\n"

            send_signal(f"ldm={it.pid}")

            assert int(it.communicate(timeout=10)[0]) == os.getpid()
        finally:
            it.kill()
