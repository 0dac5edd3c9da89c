"""Takes the older server out of Debian's package; nothing is installed and no service starts."""

from __future__ import annotations

import shutil
from pathlib import Path

from framework.testing.errors import PeerMissingError
from framework.testing.peers._run import run

_INSTALLED = (Path("/usr/sbin/nats-server"), Path("/usr/bin/nats-server"))


def unpack(name: str, version: str, target: Path) -> None:
    """Copy the installed server if it is of the wanted version, else unpack Debian's package.

    Args:
        name: The peer, for errors.
        version: Wanted one.
        target: File to write; its folder is used for what is downloaded.

    Raises:
        PeerMissingError: It is not installed, and this is no Debian or the package cannot be had.
    """
    for path in _INSTALLED:
        if path.exists() and version in run(name, [path, "--version"], folder=target.parent):
            shutil.copy2(path, target)
            return
    if not shutil.which("apt-get"):
        raise PeerMissingError(name, "nats-server is not installed and this is no Debian", "")
    package = _download(name, target.parent)
    run(name, ["dpkg-deb", "-x", package, "unpacked"], folder=target.parent)
    shutil.move(target.parent / "unpacked" / "usr" / "sbin" / "nats-server", target)


def _download(name: str, folder: Path) -> Path:
    command = ["apt-get", "-q", "download", "nats-server"]
    try:
        run(name, command, folder=folder)
    except PeerMissingError:  # a fresh machine has no package lists yet
        run(name, ["apt-get", "-q", "update"], folder=folder)
        run(name, command, folder=folder)
    return next(folder.glob("nats-server_*.deb"))
