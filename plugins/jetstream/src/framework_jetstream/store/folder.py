"""The folder that segments are in."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from framework_jetstream.log.durable import sync_folder

if TYPE_CHECKING:
    import os

FOLDER: Final = "segments"
"""Beside the files of the log."""
_MODE: Final = 0o750
_FILE_NAME: Final = re.compile(r"([0-9]{10,})-([0-9]{10,})\.seg")


def name_of(group: int, file: int) -> str:
    """Return the name of a segment: group of its stream in the log, number of the file."""
    return f"{group:010}-{file:010}.seg"


def place_of(name: str) -> tuple[int, int] | None:
    """Return group and number by the name of a file; None: it is no segment's."""
    named = _FILE_NAME.fullmatch(name)
    return (int(named[1]), int(named[2])) if named else None


class SegmentFolder:
    """Segments of all streams of a server, as files.

    Args:
        log_folder: That of the log; the folder in it is made if it is not there.
    """

    def __init__(self, log_folder: str | os.PathLike[str]) -> None:
        self.folder: Final = Path(log_folder, FOLDER)

    def make(self) -> None:
        """Make the folder, durably.

        Raises:
            OSError: It can't be made.
        """
        self.folder.mkdir(mode=_MODE, exist_ok=True)
        sync_folder(self.folder.parent)

    def files(self) -> list[tuple[int, int]]:
        """Return (group, file) of all segments, sorted."""
        names = [it.name for it in self.folder.iterdir()] if self.folder.is_dir() else []
        return sorted(found for it in names if (found := place_of(it)) is not None)

    def read(self, group: int, file: int) -> bytes:
        """Return what is in a segment; nothing, if it is not there.

        Raises:
            OSError: It can't be read.
        """
        try:
            return (self.folder / name_of(group, file)).read_bytes()
        except FileNotFoundError:
            return b""

    def keep(self, group: int, file: int) -> None:
        """Let a damaged segment stay for people, under another name, when it is needed no more."""
        path = self.folder / name_of(group, file)
        with contextlib.suppress(FileExistsError, FileNotFoundError):
            path.with_suffix(".damaged").hardlink_to(path)

    def remove(self, group: int, file: int) -> None:
        """Remove a segment."""
        (self.folder / name_of(group, file)).unlink(missing_ok=True)
