"""Small programs in the environment of this Python, for Spark to start in place of others."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path


def has_place() -> bool:
    """Return whether programs may be put there."""
    return os.access(sys.prefix, os.W_OK)


def place() -> Path:
    """Return the folder of this package's programs; it may not be there yet."""
    return Path(sys.prefix, "share", "pyspark_nats")


def put_program(path: Path, text: str) -> Path:
    """Put a program for `sh` somewhere, at once, whoever else does so; return where it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(f".{os.getpid()}")
    new.write_text(text, "utf-8")
    new.chmod(new.stat().st_mode | stat.S_IXUSR)
    new.replace(path)
    return path
