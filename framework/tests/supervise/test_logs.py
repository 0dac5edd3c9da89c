"""Logs of servers: files, or prefixed lines."""

from __future__ import annotations

import asyncio
import io
import os
from typing import TYPE_CHECKING

from framework.supervise.logs import LogFolder, LogPrefixer, last_line, shown

if TYPE_CHECKING:
    from pathlib import Path


def test_a_file_is_appended_to_and_quotes_its_last_line(tmp_path: Path) -> None:
    folder = LogFolder(tmp_path / "new" / "logs")
    for text in (b"one\n", b"two\nthree\n\n"):
        log = folder.open("a")
        os.write(log.fd, text)
        log.handed_over()
        last = log.finish()

    assert last == "three"
    assert (tmp_path / "new" / "logs" / "a.log").read_bytes() == b"one\ntwo\nthree\n\n"


def test_a_run_that_said_nothing_does_not_quote_the_run_before(tmp_path: Path) -> None:
    folder = LogFolder(tmp_path)
    (tmp_path / "a.log").write_text("long ago\n")
    log = folder.open("a")
    log.handed_over()

    assert log.finish() == ""


def test_a_log_that_was_removed_is_no_trouble(tmp_path: Path) -> None:
    log = LogFolder(tmp_path).open("a")
    log.handed_over()
    (tmp_path / "a.log").unlink()

    assert log.finish() == ""


def test_lines_are_prefixed_and_an_unfinished_one_is_not_lost() -> None:
    async def scenario() -> tuple[str, str]:
        stream = io.StringIO()
        log = LogPrefixer(asyncio.get_running_loop(), stream, 4).open("a-1")
        os.write(log.fd, b"one\ntwo\nthr")
        os.write(log.fd, b"ee")
        log.handed_over()
        last = log.finish()
        return stream.getvalue(), last

    assert asyncio.run(scenario()) == ("a-1  | one\na-1  | two\na-1  | three\n", "three")


def test_a_pipe_that_a_grandchild_holds_open_keeps_nobody_waiting() -> None:
    async def scenario() -> str:
        log = LogPrefixer(asyncio.get_running_loop(), io.StringIO(), 1).open("a")
        grandchild_fd = os.dup(log.fd)
        os.write(log.fd, b"bye\n")
        log.handed_over()
        last = log.finish()
        os.close(grandchild_fd)
        return last

    assert asyncio.run(scenario()) == "bye"


def test_last_line_skips_blank_ones() -> None:
    assert last_line(b"one\ntwo\n \n\n") == "two"
    assert last_line(b"") == ""


def test_what_is_shown_cannot_upset_a_terminal() -> None:
    assert shown("\x1b[31mred\x07\ttext ") == "[31mred  text"
    assert shown("x" * 300) == "x" * 199 + "…"
    assert shown(b"\xff\xfe".decode(errors="backslashreplace")) == "\\xff\\xfe"
