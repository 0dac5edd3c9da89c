"""A disk, true to the byte: what was written is pending until a sync, and may be lost or torn."""

from __future__ import annotations

import errno
import os
import random
from typing import Final

SECTOR_BYTES: Final = 512
"""What a disk writes whole or not at all."""


class SimulatedFile:
    """A file as programs see it, and as it is on the disk."""

    def __init__(self) -> None:
        self.data = bytearray()
        """What a read answers while the machine runs."""
        self.durable = bytearray()
        """What is on the disk."""
        self.pending: dict[int, list[bytes]] = {}
        """By sector: what was written there since the last sync, the oldest first."""

    def resize(self, length: int) -> None:
        """Append zeros up to a length; the disk may keep the old one until a sync."""
        self.data.extend(bytes(length - len(self.data)))

    def write(self, offset: int, data: bytes) -> None:
        """Write, in memory."""
        end = offset + len(data)
        if end > len(self.data):
            self.resize(end)
        self.data[offset:end] = data
        for sector in range(offset // SECTOR_BYTES, -(-end // SECTOR_BYTES)):
            at = sector * SECTOR_BYTES
            self.pending.setdefault(sector, []).append(bytes(self.data[at : at + SECTOR_BYTES]))

    def sync(self) -> None:
        """Make durable what is pending."""
        for sector, versions in self.pending.items():
            self.put(sector, versions[-1])
        self.pending.clear()
        self.grow()

    def grow(self) -> None:
        """Let the disk know the length."""
        self.durable.extend(bytes(len(self.data) - len(self.durable)))

    def put(self, sector: int, data: bytes) -> None:
        """Change a sector of the disk."""
        at = sector * SECTOR_BYTES
        if len(self.durable) < at + len(data):
            self.durable.extend(bytes(at + len(data) - len(self.durable)))
        self.durable[at : at + len(data)] = data


class SimulatedDisk:
    """One directory of files on a disk; everything that goes wrong comes from the seed.

    A crash keeps of what is pending a random subset of sectors, each in one of the versions that
    were written; of changes to the directory it keeps the first ones. Programs get `OSError`.

    Args:
        seed: Same seed, same faults.
        size: Bytes that all files have together, at most.
    """

    def __init__(self, seed: int, *, size_bytes: int = 1 << 40) -> None:
        self.size_bytes = size_bytes
        self.sync_fails: int = 0
        """errno of the next sync; 0: it succeeds."""
        self.write_is_misdirected = False
        """The next sync puts one sector to another place."""
        self.write_is_dropped = False
        """The next sync leaves one sector as it was."""
        self._rng = random.Random(f"{seed} disk")
        self._files: dict[str, SimulatedFile] = {}
        self._durable_files: dict[str, SimulatedFile] = {}
        self._changes: list[tuple[str, str | None, SimulatedFile | None]] = []

    # -- what programs do

    def names(self) -> list[str]:
        """Return the names of all files, sorted."""
        return sorted(self._files)

    def read(self, name: str) -> bytes:
        """Return what is in a file."""
        return bytes(self._file(name).data)

    def allocate(self, name: str, length: int) -> None:
        """Make a file, unless it is there, and give it a length, at least.

        Raises:
            OSError: ENOSPC. The file is made, and no longer.
        """
        if name not in self._files:
            self._files[name] = SimulatedFile()
            self._changes.append((name, None, self._files[name]))
        file = self._files[name]
        used = sum(len(it.data) for it in self._files.values())
        if used + max(length - len(file.data), 0) > self.size_bytes:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), name)
        if length > len(file.data):
            file.resize(length)

    def rename(self, old: str, new: str) -> None:
        """Give a file another name."""
        file = self._file(old)
        del self._files[old]
        self._files[new] = file
        self._changes.append((new, old, file))

    def remove(self, name: str) -> None:
        """Remove a file."""
        self._file(name)
        del self._files[name]
        self._changes.append(("", name, None))

    def write(self, name: str, offset: int, data: bytes) -> None:
        """Write into a file; it is pending from now on."""
        self._file(name).write(offset, data)

    def sync(self, name: str) -> None:
        """Make durable what was written to a file.

        Raises:
            OSError: It failed. As on Linux, what was pending is then taken for written.
        """
        file = self._file(name)
        if self.sync_fails:
            code, self.sync_fails = self.sync_fails, 0
            for sector in list(file.pending):
                if self._rng.random() < 0.5:  # noqa: PLR2004 - a coin
                    file.put(sector, file.pending[sector][-1])
            file.pending.clear()
            raise OSError(code, os.strerror(code), name)
        self._lie(file)
        file.sync()

    def sync_directory(self) -> None:
        """Make durable which files there are."""
        self._durable_files = dict(self._files)
        self._changes.clear()

    # -- what goes wrong

    def crash(self) -> None:
        """Lose power: all is as the disk has it, and that is all there is from now on."""
        for name, old, file in self._changes[: self._rng.randint(0, len(self._changes))]:
            self._durable_files.pop(old or "", None)
            if file is not None:
                self._durable_files[name] = file
        self._changes.clear()
        files = {id(it): it for it in (*self._files.values(), *self._durable_files.values())}
        keeps = self._rng.choice((0.0, 0.1, 0.5, 0.9, 1.0))
        for file in files.values():
            for sector, versions in sorted(file.pending.items()):
                if self._rng.random() < keeps:
                    file.put(sector, self._rng.choice(versions))
            if self._rng.random() < keeps:
                file.grow()
            file.pending.clear()
            file.data = bytearray(file.durable)
        self._files = dict(self._durable_files)

    def kill(self) -> None:
        """End the process, not the machine: what was written is there, synced or not."""

    def flip(self, name: str, offset: int, bit: int) -> None:
        """Change a bit, as the program and as the disk have it."""
        file = self._file(name)
        for data in (file.data, file.durable):
            if offset < len(data):
                data[offset] ^= 1 << bit

    def erase(self, name: str, sector: int, count: int = 1) -> None:
        """Make sectors zeros."""
        file = self._file(name)
        at = sector * SECTOR_BYTES
        for data in (file.data, file.durable):
            length = len(data[at : at + count * SECTOR_BYTES])
            data[at : at + length] = bytes(length)

    def truncate(self, name: str, length: int) -> None:
        """Let a file have so many bytes at most, as the program and as the disk have it."""
        file = self._file(name)
        for data in (file.data, file.durable):
            del data[length:]

    def copy_sector(self, name: str, sector: int, other: str, other_sector: int) -> None:
        """Put what stands in one sector over another one."""
        source = bytes(self._file(name).data[sector * SECTOR_BYTES : (sector + 1) * SECTOR_BYTES])
        target = self._file(other)
        at = other_sector * SECTOR_BYTES
        for data in (target.data, target.durable):
            if at + len(source) <= len(data):
                data[at : at + len(source)] = source

    def _lie(self, file: SimulatedFile) -> None:
        """Leave a sector out, or put it elsewhere, if that is due."""
        sectors = sorted(file.pending)
        if not sectors or not (self.write_is_dropped or self.write_is_misdirected):
            return
        sector = self._rng.choice(sectors)
        versions = file.pending.pop(sector)
        if self.write_is_misdirected:
            file.put(self._rng.randrange(max(len(file.durable) // SECTOR_BYTES, 1)), versions[-1])
        self.write_is_dropped = self.write_is_misdirected = False
        file.grow()
        file.data = bytearray(file.durable)
        for other, waiting in file.pending.items():
            at = other * SECTOR_BYTES
            file.data[at : at + SECTOR_BYTES] = waiting[-1]

    def _file(self, name: str) -> SimulatedFile:
        if name not in self._files:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
        return self._files[name]
