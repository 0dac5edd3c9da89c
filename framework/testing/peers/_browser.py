"""Unpacks the headless Chromium of npm's `@sparticuz/chromium`, with its libraries."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from framework.testing.errors import PeerMissingError
from framework.testing.peers._npm import node
from framework.testing.peers._run import run

if TYPE_CHECKING:
    from pathlib import Path

_DECOMPRESS = """
const { brotliDecompressSync } = require("node:zlib");
const { readFileSync, writeFileSync } = require("node:fs");
const [from, to] = process.argv.slice(1);
writeFileSync(to, brotliDecompressSync(readFileSync(from)));
"""
"""Brotli is nowhere in Python; Node has it."""

_RUNNABLE = 0o755


def unpack_browser(name: str, folder: Path) -> None:
    """Put `chromium`, `lib` and `fonts` into a folder with the package, which goes.

    Args:
        name: The peer, for errors.
        folder: Where npm has installed it.

    Raises:
        PeerMissingError: The package has none for this machine.
    """
    packed = folder / "node_modules" / "@sparticuz" / "chromium" / "bin"
    if not (packed / "chromium.br").exists():
        raise PeerMissingError(name, f"{packed} has no chromium.br", "")
    for archive in ("al2023.tar", "fonts.tar"):
        _decompress(name, packed / f"{archive}.br", folder / archive)
        run(name, ["tar", "xf", archive], folder=folder)
        (folder / archive).unlink()
    program = folder / "chromium"
    _decompress(name, packed / "chromium.br", program)
    program.chmod(_RUNNABLE)
    run(name, [program, "--version"], folder=folder, environment={"LD_LIBRARY_PATH": "lib"})
    shutil.rmtree(folder / "node_modules")


def _decompress(name: str, packed: Path, target: Path) -> None:
    run(name, [node(), "-e", _DECOMPRESS, packed, target], folder=target.parent)
