"""The folder of segments where storage kinds keep some of them.

A segment that a kind has, or may have, has a file `<group>-<file>.kept` here, which says whose it
is and what comes back. The segment itself may be here as well: it is, until the kind has given it
back once, and a few stay because they were used last.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct
from typing_extensions import override

from framework_jetstream.log.durable import write_durably
from framework_jetstream.storage.records import StorageProblemError
from framework_jetstream.store.encrypted import head_of
from framework_jetstream.store.folder import SegmentFolder, name_of

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from framework_jetstream.storage.records import StorageKind

_KEPT_NAME: Final = re.compile(r"([0-9]{10,})-([0-9]{10,})\.kept")


class Kept(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A segment that a storage kind has."""

    kind: str
    name: str
    """There."""
    size: int
    digest: str
    """BLAKE2b of it, 32 bytes in hexadecimal digits."""
    head: bytes = b""
    """Its first bytes, which say how it is encrypted; none, if it is not."""


def kept_in(folder: Path) -> dict[tuple[int, int], Kept]:
    """Return what kinds have, by group and file.

    Raises:
        OSError: A file can't be read.
    """
    found = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        named = _KEPT_NAME.fullmatch(path.name)
        if named is not None:
            found[int(named[1]), int(named[2])] = msgspec.json.decode(path.read_bytes(), type=Kept)
    return found


def kept_heads(log_folder: str | os.PathLike[str]) -> dict[tuple[int, int], bytes]:
    """Return what says how segments are encrypted that kinds have, by group and file.

    Raises:
        OSError: A file can't be read.
    """
    kept = kept_in(SegmentFolder(log_folder).folder)
    return {place: it.head for place, it in kept.items() if it.head}


def read_kept(kind: StorageKind, kept: Kept) -> bytes:
    """Return a segment that a kind has.

    Raises:
        StorageProblemError: It raises, or gives something else.
    """
    try:
        data = kind.read(kept.name)
    except Exception as error:  # whatever a plugin raises
        raise StorageProblemError(f"reading {kept.name}: {_words_of(error)}") from error
    if not isinstance(data, bytes):
        raise StorageProblemError(f"reading {kept.name}: {type(data).__name__} came, not bytes")
    if len(data) != kept.size or _digest(data) != kept.digest:
        what = f"{len(data)} of {kept.size} bytes" if len(data) != kept.size else "other bytes"
        raise StorageProblemError(f"{kept.name} is not what was written: {what} came back")
    return data


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=32).hexdigest()


def _words_of(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:200]


class KeptFolder(SegmentFolder):
    """Segments of all streams of a server, some of which kinds have.

    Args:
        log_folder: As for `SegmentFolder`.
        fetch: Returns a segment that a kind has; raises StorageProblemError.
    """

    def __init__(
        self, log_folder: str | os.PathLike[str], fetch: Callable[[Kept], bytes] | None = None
    ) -> None:
        super().__init__(log_folder)
        self._fetch = fetch
        self.kept: dict[tuple[int, int], Kept] = {}
        """What kinds have, as it was when this was made ready."""
        self.unneeded: list[tuple[int, int]] = []
        """Of these, those that were removed here."""

    @override
    def make(self) -> None:
        super().make()
        for path in self.folder.glob("*.new"):
            path.unlink()
        self.kept = kept_in(self.folder)

    def kept_of(self, group: int, file: int) -> Kept | None:
        """Return what a kind has of a segment, or may have; None: none has it."""
        kept = self.kept.get((group, file))
        if kept is not None:
            return kept
        try:
            return msgspec.json.decode(self._path_of(group, file).read_bytes(), type=Kept)
        except FileNotFoundError:
            return None

    @override
    def files(self) -> list[tuple[int, int]]:
        return sorted({*super().files(), *self.kept} - set(self.unneeded))

    def here(self) -> list[tuple[int, int]]:
        """Return (group, file) of the segments that are in the folder."""
        return super().files()

    @override
    def read(self, group: int, file: int) -> bytes:
        """Return what is in a segment, here or at its kind; nothing, if it is not there.

        Raises:
            OSError: It can't be read.
            StorageProblemError: Its kind fails.
        """
        data = super().read(group, file)
        kept = self.kept.get((group, file))
        if data or kept is None or self._fetch is None:
            return data
        return self._fetch(kept)

    @override
    def remove(self, group: int, file: int) -> None:
        super().remove(group, file)
        if (group, file) in self.kept:
            self.unneeded.append((group, file))

    # -- called on the thread of a kind ----------------------------------------------------------

    def hand_over(self, kind: StorageKind, group: int, file: int, name: str) -> Kept | None:
        """Let a kind keep a segment, and see that it gives it back; None: it is gone meanwhile.

        Raises:
            OSError: The folder can't be read or written.
            StorageProblemError: The kind raises, or gives something else back.
        """
        data = super().read(group, file)
        if not data:
            return None
        head = head_of(data, group, file)
        kept = Kept(kind.name, name, len(data), _digest(data), head)
        path = self._path_of(group, file)
        write_durably(path, msgspec.json.encode(kept))
        if not (self.folder / name_of(group, file)).exists():
            # Whoever removed it did not know of the kind; who comes later does.
            path.unlink(missing_ok=True)
            return None
        try:
            kind.write(name, data)
        except Exception as error:  # whatever a plugin raises
            raise StorageProblemError(f"writing {name}: {_words_of(error)}") from error
        read_kept(kind, kept)
        return kept

    def bring_back(self, kind: StorageKind, group: int, file: int, kept: Kept) -> None:
        """Let a segment that a kind has be here as well.

        Raises:
            OSError: The folder can't be written.
            StorageProblemError: As `read_kept`.
        """
        write_durably(self.folder / name_of(group, file), read_kept(kind, kept))
        if not self._path_of(group, file).exists():
            self.let_go(group, file)

    def let_go(self, group: int, file: int) -> None:
        """Let a segment that a kind has be there alone."""
        (self.folder / name_of(group, file)).unlink(missing_ok=True)

    def forget(self, kind: StorageKind, names: Mapping[tuple[int, int], str]) -> None:
        """Let a kind remove segments.

        Raises:
            OSError: The folder can't be written.
            StorageProblemError: The kind raises.
        """
        try:
            kind.remove(list(names.values()))
        except Exception as error:  # whatever a plugin raises
            raise StorageProblemError(
                f"removing {len(names)} segments: {_words_of(error)}"
            ) from error
        for group, file in names:
            self._path_of(group, file).unlink(missing_ok=True)
            self.let_go(group, file)

    def _path_of(self, group: int, file: int) -> Path:
        return (self.folder / name_of(group, file)).with_suffix(".kept")
