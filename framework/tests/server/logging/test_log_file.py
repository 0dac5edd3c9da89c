from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from framework.server.logging.log_file import LogFile

if TYPE_CHECKING:
    from pathlib import Path


def contents(folder: Path) -> list[str]:
    return [path.read_text() for path in sorted(folder.iterdir())]


def test_lines_are_appended(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("old\n")
    file = LogFile(tmp_path / "log")
    file.write(b"new\n")
    file.close()
    file.close()

    assert (tmp_path / "log").read_text() == "old\nnew\n"


def test_a_file_moved_away_is_begun_anew(tmp_path: Path) -> None:
    file = LogFile(tmp_path / "log")
    file.write(b"one\n")
    (tmp_path / "log").rename(tmp_path / "log.1")
    file.write(b"two\n")
    file.reopen()
    file.write(b"three\n")
    file.close()

    assert contents(tmp_path) == ["three\n", "one\ntwo\n"]


def test_a_full_file_is_put_aside(tmp_path: Path) -> None:
    file = LogFile(tmp_path / "log", size_bytes_max=8)
    for line in (b"aaaa\n", b"bb\n", b"cccc\n", b"dddddddddddd\n"):
        file.write(line)
    file.close()

    assert (tmp_path / "log").read_text() == "dddddddddddd\n"
    assert contents(tmp_path)[1:] == ["aaaa\nbb\n", "cccc\n"]


def test_old_files_are_removed(tmp_path: Path) -> None:
    file = LogFile(tmp_path / "log", size_bytes_max=2, files_max=3)
    for number in range(9):
        file.write(b"%d\n" % number)
    file.close()

    assert contents(tmp_path) == ["8\n", "6\n", "7\n"]


def test_a_file_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        LogFile(tmp_path / "absent" / "log")


def test_a_lost_line_is_counted(tmp_path: Path) -> None:
    file = LogFile(tmp_path / "log")
    file.close()
    file.write(b"too late\n")

    assert file.lost_lines == 1
