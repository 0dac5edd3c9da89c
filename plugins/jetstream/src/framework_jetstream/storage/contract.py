"""Contract tests that every storage kind passes, to inherit from.

from framework_jetstream.storage.contract import StorageContract

class TestContract(StorageContract):
    def new_kind(self):
        return MyKind()
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from framework_jetstream.storage.records import StorageKind

T = TypeVar("T")
_LARGE_BYTES = 33 << 20
"""Above what a segment has; one message may be larger."""
_NAMES = tuple(f"{7:016x}-{group:010}-{file:010}" for group in (1, 2) for file in (1, 2, 3))


class StorageContract:
    """Tests of one storage kind; a class that inherits them makes it.

    A kind is opened, used and closed on one thread, which is not the one that made it.
    """

    def new_kind(self) -> StorageKind:
        """Return the kind as a server gets it: not open, and with what an earlier one has kept."""
        raise NotImplementedError

    def test_what_was_written_is_read(self, tmp_path: Path) -> None:
        """Any bytes come back, small ones and those of a whole segment."""
        texts = [b"", b"\x00", bytes(range(256)) * 5, bytes(range(251)) * (_LARGE_BYTES // 251)]

        def use(kind: StorageKind) -> list[bytes]:
            for name, text in zip(_NAMES, texts, strict=False):
                kind.write(name, text)
            return [kind.read(name) for name, _ in zip(_NAMES, texts, strict=False)]

        assert self._used(tmp_path, use) == texts

    def test_it_is_there_after_a_new_start(self, tmp_path: Path) -> None:
        """Another object of the kind has what the first one was given."""
        self._used(tmp_path, lambda kind: kind.write(_NAMES[0], b"first"))

        assert self._used(tmp_path, lambda kind: kind.read(_NAMES[0])) == b"first"

    def test_what_returned_is_kept_without_an_end(self, tmp_path: Path) -> None:
        """It need not be closed to keep what `write` has returned for."""
        self._used(tmp_path, lambda kind: kind.write(_NAMES[0], b"first"), closes=False)

        assert self._used(tmp_path, lambda kind: kind.read(_NAMES[0])) == b"first"

    def test_a_name_that_is_written_again_has_the_last_bytes(self, tmp_path: Path) -> None:
        """A server that stopped in between writes the same again."""

        def use(kind: StorageKind) -> bytes:
            kind.write(_NAMES[0], b"first, and longer")
            kind.write(_NAMES[0], b"second")
            return kind.read(_NAMES[0])

        assert self._used(tmp_path, use) == b"second"

    def test_what_was_removed_is_gone_and_nothing_else(self, tmp_path: Path) -> None:
        """Names that are not there are none of its business, also twice."""

        def use(kind: StorageKind) -> list[bytes | None]:
            for name in _NAMES:
                kind.write(name, name.encode())
            kind.remove([_NAMES[0], "0-0-0", _NAMES[4]])
            kind.remove([_NAMES[0]])
            kind.remove([])
            return [_read(kind, name) for name in _NAMES]

        wanted = [None if at in {0, 4} else name.encode() for at, name in enumerate(_NAMES)]
        assert self._used(tmp_path, use) == wanted

    def test_what_is_not_there_is_no_empty_segment(self, tmp_path: Path) -> None:
        """Reading it raises."""
        assert self._used(tmp_path, lambda kind: _read(kind, _NAMES[0])) is None

    def _used(self, folder: Path, use: Callable[[StorageKind], T], *, closes: bool = True) -> T:
        """Return what comes of using a kind of its own."""
        kind, found = self.new_kind(), list[T]()

        def run() -> None:
            kind.open(folder)
            found.append(use(kind))
            if closes:
                kind.close()

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        assert found, "it has raised"
        return found[0]


def _read(kind: StorageKind, name: str) -> bytes | None:
    try:
        return kind.read(name)
    except Exception:  # noqa: BLE001 -- a kind raises what it likes
        return None
