"""What a server has for streams where its configuration does not say.

Source: nats-server `jetstream.go`, `dynJetStreamConfig`; `disk_avail.go`, `diskAvailable`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

if TYPE_CHECKING:
    from framework_jetstream.config import JetStreamConfig

FOLDER: Final = "jetstream"
"""Below the folder of the configuration."""
LOG_FOLDER: Final = "log"
"""Below that."""


def store_folder(config: JetStreamConfig) -> Path:
    """Return where a server keeps what it has in files."""
    if config.store_dir:
        return Path(config.store_dir, FOLDER)
    import tempfile  # noqa: PLC0415 - 2 ms, and half a MiB of compression that is never used

    return Path(tempfile.gettempdir(), "nats", FOLDER)


def settled_config(config: JetStreamConfig) -> JetStreamConfig:
    """Return a configuration with its folder, and as many bytes as there are.

    Three quarters of the memory of the machine, and of its disk.
    """
    folder = store_folder(config)
    memory, disk = config.max_memory, config.max_file
    return replace(
        config,
        store_dir=str(folder),
        max_memory=_memory_bytes() * 3 // 4 if memory < 0 else memory,
        max_file=_free_bytes(folder) * 3 // 4 if disk < 0 else disk,
    )


def _memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _free_bytes(folder: Path) -> int:
    """Return what is free where a folder is, or will be made."""
    existing = next(it for it in (folder, *folder.absolute().parents) if it.exists())
    found = os.statvfs(existing)
    return found.f_bavail * found.f_frsize
