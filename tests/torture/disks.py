"""File systems that lose their power, are full or hang, one for each server; and damaged files.

Only root can have such file systems.
"""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator
    from pathlib import Path

_SHUTDOWN = 0x8004587D
"""EXT4_IOC_SHUTDOWN."""
_FREEZE, _THAW = 0xC0045877, 0xC0045878
"""FIFREEZE and FITHAW."""
_NO_LOG_FLUSH = struct.pack("I", 2)
_DISK_BYTES = 768 << 20
_BALLAST_BYTES = 1 << 20
_FLIPS = 20


class Disks:
    """An ext4 file system on a loop device for each name.

    Args:
        folder: Of images, and of the folders where they are mounted.
        names: Of servers.
    """

    def __init__(self, folder: Path, names: tuple[str, ...]) -> None:
        self._folder = folder
        self._names = names
        for name in names:
            image = folder / f"{name}.image"
            with image.open("wb") as file:
                file.truncate(_DISK_BYTES)
            _run("mkfs.ext4", "-q", image)
            self.path(name).mkdir()
            self._mount(name)

    def path(self, name: str) -> Path:
        """Return where the file system of a server is."""
        return self._folder / f"{name}.disk"

    def cut(self, name: str) -> None:
        """Let a file system lose all that is not on the disk, and write nothing more."""
        self._control(name, _SHUTDOWN, _NO_LOG_FLUSH)

    @contextmanager
    def hung(self, name: str) -> Iterator[None]:
        """Let who writes to a file system wait meanwhile."""
        self._control(name, _FREEZE, 0)
        try:
            yield
        finally:
            self._control(name, _THAW, 0)

    def _control(self, name: str, request: int, word: int | bytes) -> None:
        descriptor = os.open(self.path(name), os.O_RDONLY)
        try:
            fcntl.ioctl(descriptor, request, word)
        finally:
            os.close(descriptor)

    def give_power(self, name: str) -> None:
        """Let a file system be what is on its disk; nobody has a file open there."""
        _run("umount", self.path(name))
        self._mount(name)

    def fill(self, name: str) -> None:
        """Leave no room."""
        with (self.path(name) / "ballast").open("wb", buffering=0) as file, suppress(OSError):
            while file.write(bytes(_BALLAST_BYTES)):
                pass

    def make_room(self, name: str) -> None:
        """Undo `fill`."""
        (self.path(name) / "ballast").unlink()

    def stop(self) -> None:
        """Unmount all."""
        for name in self._names:
            subprocess.run(["umount", "-l", self.path(name)], check=False, capture_output=True)

    def _mount(self, name: str) -> None:
        _run("mount", "-o", "loop", self._folder / f"{name}.image", self.path(name))


def flip_bits(folder: Path, chance: random.Random) -> None:
    """Flip single bits in what a server has stored of messages."""
    files = _files(folder)
    for _ in range(_FLIPS):
        path = chance.choice(files)
        with path.open("r+b") as file:
            written = _written(file.read())
            if not written:
                continue
            file.seek(at := chance.randrange(written))
            byte = file.read(1)[0]
            file.seek(at)
            file.write(bytes([byte ^ 1 << chance.randrange(8)]))


def truncate_file(folder: Path, chance: random.Random) -> None:
    """Let one file of what a server has stored of messages end too early, anywhere."""
    path = chance.choice([it for it in _files(folder) if _written(it.read_bytes())])
    os.truncate(path, chance.randrange(_written(path.read_bytes())))


def _files(folder: Path) -> list[Path]:
    files = [it for it in folder.rglob("*") if it.suffix in {".log", ".seg", ".blk"}]
    return sorted(it for it in files if it.stat().st_size)


def _written(data: bytes) -> int:
    """Return how much of a file is not zeros at its end, which nobody reads."""
    return len(data.rstrip(b"\0"))


def _run(*words: str | Path) -> None:
    subprocess.run(words, check=True, capture_output=True)
