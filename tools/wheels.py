"""Make a wheelhouse: the wheels of this tree and of all that they need, in one folder.

    ./dev wheels DIR
    pip install --no-index --find-links DIR 'framework[standard]'

The second command needs no network, and no index is asked for names that somebody else may own
there. Standard library and pip only: images are built by this, too.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOT_SOURCES = (".git", ".venv", "build", "dist", "*.egg-info", "*.so", "__pycache__", ".*_cache")


def main() -> None:
    """Fill the folder that the command line names."""
    parser = argparse.ArgumentParser(prog="./dev wheels", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="DIR", help="made if it does not exist")
    folder = parser.parse_args().folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    build_wheels(folder)
    collect_requirements(folder)
    print(f"pip install --no-index --find-links {folder} 'framework[standard]'")


def build_wheels(folder: Path, *, reuses: bool = False) -> None:
    """Build the wheels of this tree, each from a copy of its sources.

    Args:
        folder: Of the wheels.
        reuses: What was compiled in the tree is not compiled again, unless its sources are newer.
    """
    with tempfile.TemporaryDirectory(prefix="framework-wheels-") as name:
        members = [*ROOT.glob("plugins/*/pyproject.toml"), *ROOT.glob("spark/*/pyproject.toml")]
        for project in [ROOT, *sorted(path.parent for path in members)]:
            source = copy_sources(project, Path(name) / project.name)
            if reuses:
                copy_built(project, source)
            options = ["--no-build-isolation", "--no-deps", "--wheel-dir", str(folder)]
            command = [sys.executable, "-m", "pip", "wheel", "--quiet", *options, str(source)]
            run(command, PYTHONPATH=str(ROOT))  # compiled plugins look for our header


def collect_requirements(folder: Path) -> None:
    """Bring what the wheels need at run time: the pinned versions, compared with their hashes."""
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"]
    options = ["--no-build-isolation", "--require-hashes", "--wheel-dir", str(folder)]
    run([*pip, *options, "-r", str(ROOT / "requirements" / "run.txt")])


def copy_sources(project: Path, target: Path) -> Path:
    """Copy what Git would hand out of `project`; so no file built in place gets into a wheel."""
    if not (ROOT / ".git").exists():  # an unpacked archive, or the context of an image
        shutil.copytree(project, target, ignore=shutil.ignore_patterns(*NOT_SOURCES))
        return target
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "."],
        cwd=project,
        check=True,
        capture_output=True,
        text=True,
    )
    for file in filter(None, listed.stdout.split("\0")):
        source = project / file
        if source.is_file():
            (target / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target / file)
    return target


def copy_built(project: Path, target: Path, *, objects: bool = True) -> None:
    """Copy what an installation in place has made of sources, with its times.

    Args:
        project: Whose sources were copied to `target`.
        target: Where they will be built.
        objects: What the compiler made as well, not only what Cython did.
    """
    places = ["framework/**/_*.c", "src/**/_*.c", *(["build/temp.*/**/*"] if objects else ())]
    for file in (file for place in places for file in project.glob(place) if file.is_file()):
        copy = target / file.relative_to(project)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file, copy)


def run(command: list[str], cwd: Path = ROOT, **environment: str) -> None:
    """Run a command outside the tree's own import path, and show it."""
    print("+", *command, flush=True)
    subprocess.run(command, cwd=cwd, env={**outside(), **environment}, check=True)


def outside() -> dict[str, str]:
    """Return the environment of a command that must not import from this tree."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


if __name__ == "__main__":
    main()
