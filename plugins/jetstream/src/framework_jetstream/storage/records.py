"""What a storage kind is, and how a stream says which one it wants."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Final, Protocol

from framework.errors import FrameworkError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

METADATA: Final = "framework.storage"
"""The name in a stream's metadata whose value is the name of a storage kind."""


class StorageKind(Protocol):
    """Keeps finished segments of streams as bytes, each under a name.

    It knows nothing of messages: what a segment has, and that it comes back as it was written, the
    server checks. All calls come on one thread of its own, one after the other, and may block; one
    that takes longer than `storage_timeout`, or raises, takes its streams offline until one
    succeeds.
    """

    @property
    def name(self) -> str:
        """How streams ask for it: lower case letters, digits and `-`; not `file` or `memory`."""

    def open(self, folder: Path) -> None:
        """Get ready; called once, before anything else.

        Args:
            folder: Its own, in the server's `store_dir`; is there, and may be left empty.
        """

    def write(self, name: str, data: bytes) -> None:
        """Keep a segment; when this returns it is durable. One of this name is replaced.

        Args:
            name: At most 64 letters, digits and `-`; no other server uses it.
            data: At most about 32 MiB, or one message that is larger.
        """

    def read(self, name: str) -> bytes:
        """Return a segment as it was written; raise if it is not there."""

    def remove(self, names: Sequence[str]) -> None:
        """Forget segments; those that are not there are none of its business."""

    def close(self) -> None:
        """Let go of everything; nothing is called after this."""


class StorageProblemError(FrameworkError):
    """A storage kind has raised, has not answered in time, or has not given back what it got."""


def kind_of(metadata: Mapping[str, str] | None) -> str:
    """Return the name of the kind that a stream asks for; empty: the server's own folder."""
    return (metadata or {}).get(METADATA, "")


def number_of(kind: str) -> int:
    """Return by what the engine knows a kind: never 0, and the same whenever it is started."""
    return zlib.crc32(kind.encode()) or 1 if kind else 0
