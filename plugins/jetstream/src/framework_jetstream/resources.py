"""What a server has for streams where its configuration does not say.

Source: nats-server `jetstream.go`, `dynJetStreamConfig`; `disk_avail.go`, `diskAvailable`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from framework_jetstream.config import MIN_LOG_BYTES

if TYPE_CHECKING:
    from framework_jetstream.config import JetStreamConfig

FOLDER: Final = "jetstream"
"""Below the folder of the configuration."""
LOG_FOLDER: Final = "log"
"""Below that."""
_LOG_BYTES: Final = 512 << 20
_LOG_SHARE: Final = 4
"""The log has no more than one part in so many of a disk."""


def store_folder(config: JetStreamConfig) -> Path:
    """Return where a server keeps what it has in files."""
    if config.store_dir:
        return Path(config.store_dir, FOLDER)
    import tempfile  # noqa: PLC0415 - 2 ms, and half a MiB of compression that is never used

    return Path(tempfile.gettempdir(), "nats", FOLDER)


def settled_config(config: JetStreamConfig) -> JetStreamConfig:
    """Return a configuration with its folder, and as many bytes as there are.

    Three quarters of the memory of the machine, and of its disk; of that no more than a quarter is
    for the log.
    """
    folder = store_folder(config)
    disk = _disk(folder)
    log_bytes = max(min(_LOG_BYTES, disk.f_blocks * disk.f_frsize // _LOG_SHARE), MIN_LOG_BYTES)
    memory, file = config.max_memory, config.max_file
    return replace(
        config,
        store_dir=str(folder),
        max_memory=_memory_bytes() * 3 // 4 if memory < 0 else memory,
        max_file=disk.f_bavail * disk.f_frsize * 3 // 4 if file < 0 else file,
        log_bytes=log_bytes if config.log_bytes < 0 else config.log_bytes,
    )


def _memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _disk(folder: Path) -> os.statvfs_result:
    """Return how the disk is where a folder is, or will be made."""
    existing = next(it for it in (folder, *folder.absolute().parents) if it.exists())
    return os.statvfs(existing)
