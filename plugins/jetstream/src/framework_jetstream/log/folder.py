"""The folder that a server's log is in."""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING, Final

from framework.errors import FrameworkError
from framework_jetstream.log._face import Log
from framework_jetstream.log._thread import LogThread

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

    from framework_jetstream.encryption._cipher import Keys

_MODE: Final = 0o750


class StoreError(FrameworkError):
    """The folder of streams can't be used."""


def _make(folder: Path) -> None:
    """Make a folder; harnesses look for what nats-server says if that fails."""
    try:
        folder.mkdir(mode=_MODE, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"could not create storage directory {folder}: {error.strerror}; "
            "`store_dir` has to be a folder that the server may write to"
        ) from error


class LogFolder:
    """A log in a folder, with its thread, and what tells that a round is done.

    Args:
        folder: Is made if it is not there, with those it is in.
        sync_interval_s: Seconds between syncs; 0: each round is synced before it is acknowledged.
        keys: What files are encrypted with; None: they are not.

    Raises:
        StoreError: Another process has it, or it can't be read or written; a newer version wrote in
            it, or a file that is needed is encrypted with a key that is not there.
    """

    def __init__(self, folder: Path, sync_interval_s: float = 0, keys: Keys | None = None) -> None:
        self.folder: Final = folder
        _make(folder)
        self.wake_fd: Final = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        always = sync_interval_s <= 0
        salt = random.SystemRandom().getrandbits(63)
        self.log: Final = Log(salt=salt, syncs_always=always, keys=keys)
        try:
            self.thread: Final = LogThread(
                self.log, folder, interval_s=max(sync_interval_s, 0), wake_fd=self.wake_fd
            )
        except BlockingIOError as error:
            os.close(self.wake_fd)
            raise StoreError(
                f"{folder} is used by another server: give each one a `store_dir` of its own"
            ) from error
        except OSError as error:
            os.close(self.wake_fd)
            raise StoreError(f"{folder} can't be used for streams: {error}") from error
        except FrameworkError as error:
            os.close(self.wake_fd)
            raise StoreError(f"{folder} can't be opened: {error}") from error

    def trouble(self) -> str:
        """Return why nothing can be stored now; empty: it can."""
        if self.log.failed:
            why = os.strerror(self.log.failed)
            return f"writing to {self.folder} failed, and nothing more is stored: {why}"
        if self.log.is_full:
            return f"no space left on device for {self.folder}"
        return ""

    def start(self) -> Self:
        """Begin to write."""
        self.thread.start()
        return self

    def close(self) -> None:
        """Write and sync what was appended, and end the thread."""
        self.thread.stop()
