"""`lost+found`: streams that are on a server and have no place there, a folder for each group.

    lost+found/<group>/backup.json      configuration and state of the stream
    lost+found/<group>/stream.tar.s2    its consumers and messages
    lost+found/<group>/reason.json      why it is here, since when, and what it was

The first two are what `nats stream restore` takes. A folder has its name when all in it is durable;
until then it ends with `.part`, and is begun anew after a stop. Of a server that has a `key` all
three files are sealed (`sealed.py`).
"""

from __future__ import annotations

import os
import re
import shutil
from contextlib import suppress
from itertools import count
from typing import IO, TYPE_CHECKING, Final

import msgspec
from msgspec import Struct

from framework_jetstream.log.durable import sync_folder, write_durably
from framework_jetstream.snapshots.sealed import Sealing, is_sealed, unsealed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

FOLDER: Final = "lost+found"
ARCHIVE: Final = "stream.tar.s2"
BACKUP: Final = "backup.json"
REASON: Final = "reason.json"
FILES: Final = (BACKUP, ARCHIVE, REASON)
_PART: Final = ".part"
_MODE: Final = 0o750
_FILE_MODE: Final = 0o640
_GROUP_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")


class Reason(Struct, frozen=True, kw_only=True):
    """Why a stream is set aside, and what it was."""

    reason: str
    set_aside: str
    """When, RFC 3339."""
    server: str
    group: str
    account: str
    stream: str
    created: str
    messages: int
    bytes: int
    first_seq: int
    last_seq: int
    consumers: list[str]
    is_whole: bool
    """False: something of it was lost at this server before."""

    def is_of(self, other: Reason) -> bool:
        """Return whether both are of the same stream, with the same in it."""
        return self._contents() == other._contents()

    def _contents(self) -> tuple[object, ...]:
        counts = (self.messages, self.bytes, self.first_seq, self.last_seq)
        return (self.group, self.account, self.stream, self.created, *counts)


class Placed(Struct, frozen=True):
    """A folder in `lost+found`."""

    path: Path
    reason: Reason | None
    """None: it is sealed, and nobody has the key."""


class Writing:
    """Writes one folder; nobody sees it before it is whole.

    All raise OSError where there is no room, or the disk fails.
    """

    def __init__(self, folder: LostFolder, name: str) -> None:
        self._folder = folder
        self._path = folder.path / name
        self._part = folder.path / f"{name}{_PART}"
        shutil.rmtree(self._part, ignore_errors=True)
        self._part.mkdir(mode=_MODE)
        fd = os.open(self._part / ARCHIVE, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, _FILE_MODE)
        self._file: IO[bytes] = os.fdopen(fd, "wb")
        self._sealing = folder.sealing(self._file)

    def write(self, data: bytes) -> None:
        """Add to the archive."""
        (self._sealing or self._file).write(data)

    def finish(self, backup: bytes, reason: Reason) -> Path:
        """Let the folder be there, durably; return it."""
        if self._sealing is not None:
            self._sealing.finish()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        told = msgspec.json.format(msgspec.json.encode(reason), indent=2)
        for name, data in ((BACKUP, backup), (REASON, told)):
            write_durably(self._part / name, self._folder.sealed(data))
        self._part.rename(self._path)
        sync_folder(self._folder.path)
        return self._path

    def drop(self) -> None:
        """Leave nothing of it."""
        with suppress(OSError):  # what was not written has no room either
            self._file.close()
        shutil.rmtree(self._part, ignore_errors=True)


class LostFolder:
    """The folder of a server.

    Args:
        store: Folder of what the server stores.
        keys: The server's, the one to write with first; none: nothing is sealed.
        cipher: To write with.
    """

    def __init__(self, store: Path, keys: Sequence[str] = (), cipher: int = 0) -> None:
        self.path: Final = store / FOLDER
        self._keys = keys
        self._cipher = cipher

    def sealing(self, file: IO[bytes]) -> Sealing | None:
        """Return what seals a file; None: it is not to be."""
        return Sealing(file, self._keys[0], self._cipher) if self._keys else None

    def sealed(self, data: bytes) -> bytes:
        """Return what is written of a small file."""
        from io import BytesIO  # noqa: PLC0415 - for who encrypts

        to = BytesIO()
        sealing = self.sealing(to)
        if sealing is None:
            return data
        sealing.write(data)
        sealing.finish()
        return to.getvalue()

    def begin(self, group: str) -> Writing:
        """Begin a folder for a group, beside those that it has already.

        Raises:
            OSError: It can't be made.
        """
        assert _GROUP_NAME.fullmatch(group), group
        self.path.mkdir(mode=_MODE, parents=True, exist_ok=True)
        sync_folder(self.path.parent)
        names = (group if number == 1 else f"{group}.{number}" for number in count(1))
        return Writing(self, next(it for it in names if not (self.path / it).exists()))

    def find(self, wanted: Reason) -> Path | None:
        """Return the folder in which a stream is already, as it is now; None: none.

        Raises:
            OSError: The folders can't be read.
        """
        for it in self.all():
            if it.reason is not None and it.reason.is_of(wanted):
                return it.path
        return None

    def all(self) -> Iterator[Placed]:
        """Yield what is set aside, by name.

        Raises:
            OSError: A folder can't be read.
        """
        paths = sorted(self.path.iterdir()) if self.path.is_dir() else []
        for path in paths:
            if path.suffix != _PART and (path / REASON).is_file():
                yield Placed(path, self._reason_in(path))

    def _reason_in(self, path: Path) -> Reason | None:
        if is_sealed(path / REASON) and not self._keys:
            return None
        return msgspec.json.decode(b"".join(self.read(path / REASON)), type=Reason)

    def is_sealed(self, it: Placed) -> bool:
        """Return whether a folder is to be copied before anybody else can read it."""
        return is_sealed(it.path / BACKUP)

    def copied(self, it: Placed, to: Path) -> Path:
        """Copy a folder to one below another, without encryption; return it.

        Raises:
            OSError: It can't be read or written.
            LockedFileError, CipherError: As of `unsealed`.
        """
        path = to / it.path.name
        path.mkdir(mode=_MODE, parents=True, exist_ok=True)
        for name in FILES:
            with (path / name).open("wb") as file:
                file.writelines(self.read(it.path / name))
        return path

    def read(self, path: Path) -> Iterator[bytes]:
        """Yield what is in a file of a folder, in pieces; raises as `unsealed` does."""
        if is_sealed(path):
            yield from unsealed(path, self._keys)
            return
        with path.open("rb") as file:
            while piece := file.read(1 << 20):
                yield piece
