"""Make an environment ready for work: requirements installed, extensions built.

Everything is installed by pip, from the hashed files in `requirements/` and from this tree.
What is ready is remembered by checksum inside the environment, so a call that finds nothing
to do costs less than 0.2 s, and two calls at once wait for each other.

Standard library only: this runs before anything is installed.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).resolve().parent.parent
SOURCE_SUFFIXES = {".pyx", ".pxd", ".pxi", ".h"}
EXIT_INTERRUPTED = 130
PURPOSES = {
    "run": ("build", "run"),
    "test": ("build", "run", "test", "lint", "tox"),
    # The wheel with Java as well, on every machine: what it is for is tested on all of them.
    "spark": ("build", "run", "test", "lint", "tox", "spark", "java"),
}


def main() -> None:
    """Prepare the environment that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("purpose", choices=[*PURPOSES, "build"])
    parser.add_argument(
        "--environment",
        type=Path,
        default=Path(sys.prefix),
        help="folder of the virtual environment; made if absent (default: the one that runs this)",
    )
    arguments = parser.parse_args()
    try:
        prepare(arguments.environment, PURPOSES.get(arguments.purpose, ()))
    except KeyboardInterrupt:
        raise SystemExit(EXIT_INTERRUPTED) from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        hint = "it works on its own folder: take a copy that you may write to"
        raise SystemExit(f"dev: {error.filename}: {reason}; {hint}") from None


def prepare(environment: Path, requirements: tuple[str, ...]) -> None:
    """Bring `environment` up to date with the tree.

    Args:
        environment: Folder of a virtual environment; made if it does not exist.
        requirements: Names of files in `requirements/` without their suffix, in any order.
    """
    with _only_one(environment):
        if not (environment / "bin" / "pip").exists():
            _make_environment(environment)
        if requirements:
            _install_requirements(environment, requirements)
        _install_workspace(environment)


@contextlib.contextmanager
def _only_one(environment: Path) -> Iterator[None]:
    environment.parent.mkdir(parents=True, exist_ok=True)
    lock = environment.parent / f".{environment.name.lstrip('.')}.lock"
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _make_environment(environment: Path) -> None:
    _check_system()
    import venv  # noqa: PLC0415 - Debian ships it apart from Python

    _say(f"making the environment {environment.name}")
    venv.create(environment, with_pip=True, clear=environment.exists())


def _check_system() -> None:
    """End with one line that names all that only the system's package manager can bring."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
    found = {
        ("Python's venv module", f"{version}-venv"): importlib.util.find_spec("ensurepip"),
        ("Python.h", f"{version}-dev"): Path(sysconfig.get_path("include"), "Python.h").exists(),
        (f"a C compiler ({compiler})", "gcc libc6-dev"): shutil.which(compiler),
    }
    if missing := [name for name, there in found.items() if not there]:
        what, packages = zip(*missing, strict=True)
        raise SystemExit(
            f"dev: missing: {', '.join(what)}; on Debian: apt-get install {' '.join(packages)}"
        )


def _install_requirements(environment: Path, names: tuple[str, ...]) -> None:
    files = [ROOT / "requirements" / f"{name}.txt" for name in names]
    stamp = environment / f".requirements-{'-'.join(names)}"
    if _is_current(stamp, digest := _digest(files)):
        return
    _say(f"installing {', '.join(names)} requirements")
    options = [option for file in files for option in ("-r", str(file))]
    _pip(environment, "--require-hashes", *options)
    stamp.write_text(digest)


def _install_workspace(environment: Path) -> None:
    """Install this tree's distributions in place, and compile what has changed."""
    members = sorted([*ROOT.glob("plugins/*/pyproject.toml"), *ROOT.glob("spark/*/pyproject.toml")])
    projects = [ROOT / "pyproject.toml", *members]
    packages = ROOT.glob("framework/**/__init__.py")  # a new one is a new folder to install
    folders = (ROOT / "framework", *ROOT.glob("plugins/*/src"))
    files = (path for folder in folders for path in folder.glob("**/*"))
    sources = (path for path in files if path.suffix in SOURCE_SUFFIXES)
    stamp = environment / ".workspace"
    builder = ROOT / "framework" / "building.py"
    digest = _digest([*projects, builder, *sorted(sources)], names=sorted(packages))
    if _is_current(stamp, digest) and all(path.exists() for path in _libraries(projects)):
        return
    _check_system()
    _say("building the extensions")
    options = [option for project in projects for option in ("-e", str(project.parent))]
    _pip(environment, "--no-build-isolation", "--no-deps", *options)
    stamp.write_text(digest)


def _libraries(projects: Iterable[Path]) -> Iterator[Path]:
    """Yield where the compiled modules of these `pyproject.toml` stand once they are built."""
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    for project in projects:
        settings = tomllib.loads(project.read_text())["tool"].get("setuptools", {})
        folder = project.parent if project.parent == ROOT else project.parent / "src"
        names = [extension["name"] for extension in settings.get("ext-modules", ())]
        if "cmdclass" in settings:  # `framework.building` links all of them into one
            names = [f"{names[0].partition('.')[0]}._compiled"]
        for name in names:
            yield folder / (name.replace(".", "/") + suffix)


def _pip(environment: Path, *arguments: str) -> None:
    command = [str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    done = subprocess.run(
        [*command, "--disable-pip-version-check", *arguments],
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},  # compiled plugins look for our header
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode != 0:
        sys.stderr.write(done.stdout)
        raise SystemExit(f"dev: pip failed ({done.returncode}); its words are above")


def _digest(files: Iterable[Path], names: Iterable[Path] = ()) -> str:
    seen = hashlib.sha256(sys.version.encode())
    for path in files:
        seen.update(f"{path.relative_to(ROOT)}\0".encode())
        seen.update(path.read_bytes())
    for path in names:
        seen.update(f"{path.relative_to(ROOT)}\0".encode())
    return seen.hexdigest()


def _is_current(stamp: Path, digest: str) -> bool:
    return stamp.exists() and stamp.read_text() == digest


def _say(words: str) -> None:
    sys.stderr.write(f"dev: {words}\n")


if __name__ == "__main__":
    main()
