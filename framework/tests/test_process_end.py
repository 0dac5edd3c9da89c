"""How a process ends whose last line somebody waits for."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

LAST_WORDS = """
from framework.process_end import end_now, leave_last_line, take_over
take_over()
assert leave_last_line({fd}, b"gone\\n")
end_now(3)
"""


def run(code: str, **options: object) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, **options
    )
    return done.returncode, done.stdout + done.stderr


def test_the_last_line_is_the_last_thing_done() -> None:
    assert run(LAST_WORDS.format(fd=1)) == (3, "gone\n")


def test_a_thread_that_goes_on_keeps_its_memory() -> None:
    thread = (
        "import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()"
    )

    assert run(f"{thread}\n{LAST_WORDS.format(fd=1)}") == (3, "gone\n")


def test_a_preloaded_library_keeps_its_memory() -> None:
    environment = {**os.environ, "LD_PRELOAD": ""}

    assert run(LAST_WORDS.format(fd=1), env=environment) == (3, "gone\n")


def test_nothing_is_left_for_an_end_that_is_not_ours() -> None:
    code = "from framework.process_end import leave_last_line; print(leave_last_line(1, b'gone'))"

    assert run(code) == (0, "False\n")


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc")
def test_memory_is_given_back_before_the_last_line_can_be_read() -> None:
    """The line waits for room in a pipe, with next to nothing of the process behind it."""
    reading, writing = os.pipe()
    fill(writing)
    count = "print(len(open('/proc/self/maps').readlines()), flush=True)"
    command = [sys.executable, "-c", f"import msgspec; {count}{LAST_WORDS.format(fd=writing)}"]
    with subprocess.Popen(command, pass_fds=(writing,), stdout=subprocess.PIPE) as process:
        os.close(writing)
        assert process.stdout is not None
        before = int(process.stdout.readline())
        maps = Path(f"/proc/{process.pid}/maps")
        while len(maps.read_text().splitlines()) > before / 2:
            os.sched_yield()

        with os.fdopen(reading, "rb") as pipe:
            assert pipe.read().lstrip(b"\0") == b"gone\n"
        assert process.wait() == 3


def fill(pipe: int) -> None:
    os.set_blocking(pipe, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(pipe, bytes(4_096))
    os.set_blocking(pipe, True)
