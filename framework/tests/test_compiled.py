"""Compiled modules of a package in one shared library: how it is made, and imported from."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from framework import _compiled

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = """
[build-system]
requires = ["setuptools", "cython", "framework"]
build-backend = "setuptools.build_meta"
[project]
name = "shapes"
version = "1"
[tool.setuptools]
packages = ["shapes"]
cmdclass = { build_ext = "framework.building.BuildExt" }
ext-modules = [
  { name = "shapes._side", sources = ["shapes/_side.pyx"], extra-compile-args = ["-O0"] },
  { name = "shapes._square", sources = ["shapes/_square.pyx"], extra-compile-args = ["-O0"] },
]
"""
FILES = {
    "pyproject.toml": PYPROJECT,
    "shapes/__init__.py": "from framework.compiled import import_compiled\n"
    "import_compiled(__name__)\n",
    "shapes/_side.pxd": "cdef long side(long half) noexcept\n",
    "shapes/_side.pyx": "cdef long side(long half) noexcept:\n    return 2 * half\n",
    "shapes/_square.pyx": "from shapes._side cimport side\n"
    "def area(long half):\n    return side(half) * side(half)\n",
}


def test_compiled_modules_stand_in_one_library() -> None:
    specs = [find_spec(name) for name in sorted(_compiled.MODULES)]

    assert specs
    assert {spec.origin for spec in specs if spec} == {_compiled.__file__}
    assert [spec.name for spec in specs if spec] == sorted(_compiled.MODULES)


def test_what_is_not_in_the_library_is_not_found() -> None:
    assert find_spec("framework.dataplane._nothing") is None
    with pytest.raises(ModuleNotFoundError, match=r"framework\.dataplane\._nothing"):
        __import__("framework.dataplane._nothing")


def test_a_package_is_built_and_what_has_not_changed_is_not_compiled_again(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)

    first = build(tmp_path)
    area = run(tmp_path, "-c", "from shapes import _square; print(_square.area(3))")
    (tmp_path / "shapes/_square.pyx").write_text(FILES["shapes/_square.pyx"] + "\nSIDES = 4\n")
    second = build(tmp_path)

    assert area == "36\n"
    assert [path.name.partition(".")[0] for path in tmp_path.rglob("*.so")] == ["_compiled"]
    assert {path: time for path, time in second.items() if first[path] != time}.keys() == {
        Path("shapes/_square.o")
    }
    assert run(tmp_path, "-c", "from shapes import _square; print(_square.SIDES)") == "4\n"


def build(folder: Path) -> dict[Path, int]:
    """Build in place as an editable install does; return when each object was made."""
    code = (
        "from setuptools.build_meta import build_editable; import sys; build_editable(sys.argv[1])"
    )
    run(folder, "-c", code, "wheels")
    [temporary] = (folder / "build").glob("temp.*")
    return {
        path.relative_to(temporary): path.stat().st_mtime_ns for path in temporary.rglob("*/*.o")
    }


def run(folder: Path, *words: str) -> str:
    environment = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}", "CFLAGS": "-O0"}
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=environment,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout
