"""Files and names in folders that are there after a power cut, once a call has returned."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

_MODE: Final = 0o640


def write_durably(path: Path, data: bytes) -> None:
    """Write a file so that it is there whole, or as it was before.

    Args:
        path: What stands beside it with `.new` behind the name is written over.
        data: All of it.

    Raises:
        OSError: It is not known which of both is there.
    """
    new = path.with_name(f"{path.name}.new")
    fd = os.open(new, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_CLOEXEC, _MODE)
    with os.fdopen(fd, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(fd)
    new.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Let the names in a folder be durable.

    Raises:
        OSError: They may not be.
    """
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
