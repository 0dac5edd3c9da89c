"""Builds of the compiled rooms for checks: in a copy of the tree, with other compiler flags."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from tools.wheels import ROOT, copy_built, copy_sources

if TYPE_CHECKING:
    from pathlib import Path


def build(folder: Path, flags: str) -> dict[str, str]:
    """Copy the tree to `folder` and compile its extensions there.

    Args:
        folder: A new folder.
        flags: For the C compiler, beside the usual ones.

    Returns:
        The environment in which a Python of ours imports the copy.
    """
    copy_sources(ROOT, folder)
    copy_built(ROOT, folder, objects=False)
    setup = "import setuptools, warnings; warnings.simplefilter('ignore'); setuptools.setup()"
    subprocess.run(
        [sys.executable, "-c", setup, "--quiet", "build_ext", "--inplace"],
        cwd=folder,
        env={**os.environ, "CFLAGS": flags, "LDFLAGS": flags},
        check=True,
        stdout=subprocess.DEVNULL,
    )
    places = os.pathsep.join(map(str, (folder, *folder.glob("plugins/*/src"))))
    return {**os.environ, "PYTHONPATH": places, "PYTHONDONTWRITEBYTECODE": "1"}


def compiler() -> str:
    """Return the C compiler that builds the extensions."""
    return os.environ.get("CC", "cc")
