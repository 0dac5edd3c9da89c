"""What a server must not forget of the founding of its meta group, in a file of its own.

It is written a few times in the life of a store, so it takes the short way: a whole new file, put
in place of the one before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct

from framework_jetstream.log.durable import write_durably
from framework_jetstream.log.folder import StoreError
from framework_jetstream.meta.founding import Memory

if TYPE_CHECKING:
    from pathlib import Path

_NAME: Final = "meta-founding"
_VERSION: Final = 1


class _Kept(Struct, frozen=True):
    version: int
    peer: str
    memory: Memory


def is_founding_kept(folder: Path) -> bool:
    """Return whether a server that shares streams has begun the store in a folder."""
    return (folder / _NAME).exists()


class MemoryFile:
    """The file of one server.

    Args:
        folder: Of the store; it is there, or will be made by `begin`.
        peer: Of the server: a store of another one is refused.
    """

    def __init__(self, folder: Path, peer: str) -> None:
        self._folder = folder
        self._peer = peer

    def begin(self) -> None:
        """Make the file before the store has anything else; one that is there must be its own.

        Raises:
            StoreError: It can't be written, or as of `read`.
        """
        if is_founding_kept(self._folder):
            self.read()
        else:
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise StoreError(f"{self._folder} can't be made: {error}") from error
            self.write(Memory())

    def read(self) -> Memory:
        """Return what was written last; nothing, if nothing was.

        Raises:
            StoreError: It is damaged, of a newer version, or another server's.
        """
        path = self._folder / _NAME
        try:
            kept = msgspec.json.decode(path.read_bytes(), type=_Kept)
        except FileNotFoundError:
            return Memory()
        except (OSError, msgspec.MsgspecError) as error:
            raise StoreError(f"{path} can't be read: {error}") from error
        if kept.version != _VERSION:
            raise StoreError(f"{path} is of version {kept.version}, this is {_VERSION}")
        if kept.peer != self._peer:
            raise StoreError(
                f"{path} is of the server with id {kept.peer}, this one has {self._peer}: ids come"
                " from names of servers, and a store stays with its name"
            )
        return kept.memory

    def write(self, memory: Memory) -> None:
        """Sync it.

        Raises:
            StoreError: It is not written, and nothing may follow from it.
        """
        path = self._folder / _NAME
        try:
            write_durably(path, msgspec.json.encode(_Kept(_VERSION, self._peer, memory)))
        except OSError as error:
            raise StoreError(f"{path} can't be written: {error}") from error
