"""Read a log that no server has open, and change nothing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from framework_jetstream.log._face import Log

if TYPE_CHECKING:
    import os

    from framework_jetstream.encryption._cipher import Keys
    from framework_jetstream.log.record import Damage

_FILE_NAME: Final = re.compile(r"[0-9]{10}\.log")


def read_log(folder: str | os.PathLike[str], keys: Keys | None = None) -> Log:
    """Return a log as it is in a folder: its groups, damage and entries. It is not to be written.

    Raises:
        OSError: The folder can't be read.
        NewerVersionError: A newer version wrote it.
        LockedFileError: It is encrypted with another key.
    """
    log = Log(keys=keys)
    for file in sorted(it for it in Path(folder).iterdir() if _FILE_NAME.fullmatch(it.name)):
        data = file.read_bytes()
        log.load(int(file.stem), len(data))[:] = data
    log.recover()
    return log


def words_of(damage: Damage) -> str:
    """Return what is damaged, for people."""
    place = f"file {damage.file:010}.log, byte {damage.offset}"
    what = damage.reason.name.lower().replace("_", " ")
    if not damage.first_index:
        length = f", {damage.length} bytes" if damage.length else ""
        return f"{place}{length}: {what}"
    entries = f"entry {damage.first_index}"
    if damage.last_index != damage.first_index:
        entries = f"entries {damage.first_index} to {damage.last_index}"
    part = f", message {damage.part + 1} of it" if damage.part >= 0 else ""
    return f"{place}: {what}: group {damage.group}, {entries}{part}"
