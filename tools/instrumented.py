"""Builds of the compiled rooms for checks: in a copy of the tree, with other compiler flags."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACES = ("conftest.py", "framework", "plugins", "pyproject.toml", "tests", "tools")


def build(folder: Path, flags: str) -> dict[str, str]:
    """Copy the tree to `folder` and compile its extensions there.

    Args:
        folder: A new folder.
        flags: For the C compiler, beside the usual ones.

    Returns:
        The environment in which a Python of ours imports the copy.
    """
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *PLACES],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
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
