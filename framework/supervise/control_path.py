"""Where the control sockets of `framework run` lie, and which of them belong to a topology."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
import tempfile
from pathlib import Path
from typing import Final

from framework.supervise.limits import SOCKET_PATH_BYTES_MAX

_SERVICE_FOLDER: Final = Path("/run/framework")
"""Holds what systemd makes for `RuntimeDirectory=framework/%i`: a folder for each service."""

_SOCKET_NAME: Final = re.compile(r"[0-9a-f]{16}-(\d+)\.sock")


def make_socket_path(file: str) -> Path:
    """Return where this process should listen for requests about a topology.

    The first of these that can be used: the folder that systemd made (`RUNTIME_DIRECTORY`),
    `framework` in `XDG_RUNTIME_DIR`, `framework-<uid>` in the folder of temporary files.

    Raises:
        OSError: None can.
    """
    problem = OSError("no folder for the control socket")
    for folder in _own_folders():
        path = folder / f"{_digest(file)}-{os.getpid()}.sock"
        try:
            _check_length(path)
            folder.mkdir(mode=0o700, exist_ok=True)
            _check(folder)
        except OSError as error:
            problem = error
        else:
            return path
    raise problem


def socket_paths(file: str) -> list[tuple[int, Path]]:
    """Return the sockets that were made for a topology, each with the pid of its process."""
    found = {}
    for folder in dict.fromkeys((*_own_folders(), *sorted(_SERVICE_FOLDER.glob("*/")))):
        for path in sorted(folder.glob(f"{_digest(file)}-*.sock")):
            name = _SOCKET_NAME.fullmatch(path.name)
            if name and _is_trusted(folder):
                found[int(name[1])] = path
    return list(found.items())


def clear_stale_sockets() -> None:
    """Take away the sockets of processes that are gone, whatever they ran."""
    for folder in filter(_is_trusted, _own_folders()):
        for path in folder.glob("*.sock"):
            name = _SOCKET_NAME.fullmatch(path.name)
            if name and not _is_running(int(name[1])):
                path.unlink(missing_ok=True)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's
        return True
    return True


def _own_folders() -> list[Path]:
    service = os.environ.get("RUNTIME_DIRECTORY", "").partition(":")[0]
    user = os.environ.get("XDG_RUNTIME_DIR", "")
    folders = [Path(service)] if Path(service).is_absolute() else []
    folders += [Path(user) / "framework"] if Path(user).is_absolute() else []
    return [*folders, Path(tempfile.gettempdir()) / f"framework-{os.geteuid()}"]


def _digest(file: str) -> str:
    return hashlib.sha256(os.fsencode(Path(file).resolve())).hexdigest()[:16]


def _check_length(path: Path) -> None:
    if len(os.fsencode(path)) > SOCKET_PATH_BYTES_MAX:
        raise OSError(errno.ENAMETOOLONG, "too long for a socket", str(path))


def _is_trusted(folder: Path) -> bool:
    try:
        _check(folder)
    except OSError:
        return False
    return True


def _check(folder: Path) -> None:
    """Refuse a folder into which somebody else could put a socket.

    Raises:
        OSError: It isn't one, or it isn't ours alone.
    """
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, "not a folder", str(folder))
    is_root = os.geteuid() == 0 and folder.parent == _SERVICE_FOLDER
    if status.st_mode & 0o022 or not (status.st_uid == os.geteuid() or is_root):
        raise PermissionError(errno.EACCES, "others may write to it", str(folder))
