"""Refuse to run code from where other users of the machine could put some."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Final

from framework.errors import PluginError

if TYPE_CHECKING:
    from pathlib import Path

_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
_ROOT: Final = 0


def check_ownership(path: Path) -> None:
    """Check that only this user and root may write a folder or a file; links are followed.

    Raises:
        PluginError: Others may write it, or it belongs to another user.
    """
    found = path.stat()
    if found.st_uid not in {_ROOT, os.geteuid()}:
        problem = f"belongs to {_name_of(found.st_uid)}, who could change what runs here"
        raise PluginError(str(path), problem, fix=f"chown {_name_of(os.geteuid())} {path}")
    if found.st_mode & _OTHERS_WRITE:
        problem = f"others may write it (mode {stat.S_IMODE(found.st_mode):04o})"
        raise PluginError(str(path), problem, fix=f"chmod go-w {path}")


def _name_of(uid: int) -> str:
    import pwd  # noqa: PLC0415 -- for an error only

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
