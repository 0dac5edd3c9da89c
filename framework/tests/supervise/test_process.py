"""Real processes: status lines, ends, signals, groups."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from framework.supervise.logs import LogFolder
from framework.supervise.process import ProcessLauncher, ServerCommand, exit_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from framework.supervise.process import Process
    from framework.tests.supervise.conftest import FakeCommand


class Heard:
    """A listener that a test can await."""

    def __init__(self) -> None:
        self.lines: asyncio.Queue[bytes] = asyncio.Queue()
        self.exited: asyncio.Future[tuple[int, str]] = asyncio.get_running_loop().create_future()

    def receive_lines(self, lines: Sequence[bytes]) -> None:
        assert not self.exited.done()
        for line in lines:
            self.lines.put_nowait(line)

    def receive_exit(self, status: int, last_line: str) -> None:
        self.exited.set_result((status, last_line))


def open_files() -> int:
    return len(list(Path("/dev/fd").iterdir()))


def launch(command: ServerCommand, folder: Path) -> tuple[Process, Heard]:
    heard = Heard()
    launcher = ProcessLauncher(asyncio.get_running_loop(), LogFolder(folder))
    return launcher.launch(command, heard), heard


def test_a_server_reports_and_ends_on_request(fake: FakeCommand, tmp_path: Path) -> None:
    async def scenario() -> None:
        process, heard = launch(fake("steady"), tmp_path)
        line = json.loads(await heard.lines.get())
        assert line["pid"] == process.pid
        process.send_signal(signal.SIGTERM)

        assert await heard.exited == (0, "Server is ready")
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGKILL)

    asyncio.run(scenario())


def test_a_server_is_in_a_session_of_its_own(fake: FakeCommand, tmp_path: Path) -> None:
    async def scenario() -> None:
        process, heard = launch(fake("steady"), tmp_path)
        assert os.getsid(process.pid) == process.pid != os.getsid(0)
        assert os.getpgid(process.pid) == process.pid
        process.send_signal(signal.SIGKILL)

        assert (await heard.exited)[0] == -signal.SIGKILL

    asyncio.run(scenario())


def test_an_end_after_the_loops_is_heard_by_nobody(
    fake: FakeCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a thread wrote then, while Python ends, could abort the whole process."""
    failures: list[object] = []
    monkeypatch.setattr(threading, "excepthook", failures.append)

    async def scenario() -> Process:
        process, heard = launch(fake("steady"), tmp_path)
        await heard.lines.get()
        return process

    process = asyncio.run(scenario())
    waiting = next(it for it in threading.enumerate() if it.name == f"wait-{process.pid}")
    process.send_signal(signal.SIGKILL)
    waiting.join(20)

    assert not waiting.is_alive()
    assert failures == []


def test_the_last_line_of_the_log_comes_with_the_end(fake: FakeCommand, tmp_path: Path) -> None:
    async def scenario() -> tuple[int, str]:
        _, heard = launch(fake("refuse"), tmp_path)
        return await heard.exited

    assert asyncio.run(scenario()) == (1, "port 5222 is taken by another process")


def test_a_program_that_is_not_there_is_an_os_error(tmp_path: Path) -> None:
    async def scenario() -> None:
        before = open_files()
        with pytest.raises(FileNotFoundError):
            launch(ServerCommand("a", (str(tmp_path / "absent"),)), tmp_path)
        assert before == open_files()

    asyncio.run(scenario())


def test_a_log_that_cannot_be_written_is_an_os_error(fake: FakeCommand, tmp_path: Path) -> None:
    async def scenario() -> None:
        (tmp_path / "file").touch()
        with pytest.raises(OSError, match="file"):
            launch(fake("steady"), tmp_path / "file" / "logs")

    asyncio.run(scenario())


def test_no_file_is_left_open(fake: FakeCommand, tmp_path: Path) -> None:
    async def scenario() -> None:
        before = open_files()
        _, heard = launch(fake("crash"), tmp_path)
        assert (await heard.exited)[0] == 3

        assert before == open_files()

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (0, "exit status 0"),
        (1, "exit status 1"),
        (-9, "killed by SIGKILL"),
        (-250, "killed by signal 250"),
    ],
)
def test_ends_in_words(status: int, text: str) -> None:
    assert exit_text(status) == text
