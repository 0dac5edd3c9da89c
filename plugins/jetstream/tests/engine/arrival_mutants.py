"""Mistakes that people make where states in segments arrive, each to be found.

The module is compiled once more with all of them, one is switched on at a time, and takes the place
of the library's own in each server of a simulation. The library itself knows nothing of them.

`python arrival_mutants.py FOLDER` builds; `python arrival_mutants.py FOLDER NUMBER SEEDS` says how
many seeds find one.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
SOURCES = HERE.parents[1] / "src"
MODULE = SOURCES / "framework_jetstream" / "engine" / "_arrivals.pyx"

MUTANTS = (
    (
        "does not wait for the disk",
        "arrival.row_at == arrival.row_count and arrival.writing == 0",
        "arrival.row_at == arrival.row_count and ({on} or arrival.writing == 0)",
    ),
)

PLANTED = '''

from framework_jetstream.engine._segment_jobs cimport SegmentJobs
from framework_jetstream.engine._state cimport Engine as State


cdef class MistakenJobs(SegmentJobs):
    """Jobs of an engine that makes the mistake."""

    cdef void begin(self, State* state):
        SegmentJobs.begin(self, state)
        state.replicas.parts.take = arrival_take


def set_mistake(int number):
    global mistake
    mistake = number
'''
SETUP = """
from setuptools import Extension, setup
from Cython.Build import cythonize

made = Extension("mistaken_arrivals", ["mistaken_arrivals.pyx"], extra_compile_args=["-O0", "-w"])
made.include_dirs = [{include!r}]
paths = [{sources!r}, {framework!r}]
setup(ext_modules=cythonize([made], quiet=True, language_level=3, include_path=paths))
"""


def build(folder: Path) -> None:
    """Build the module with all mistakes into a folder."""
    text = MODULE.read_text()
    for number, (name, old, new) in enumerate(MUTANTS, 1):
        assert text.count(old) == 1, f"{name}: {text.count(old)} times"
        text = text.replace(old, new.replace("{on}", f"(mistake == {number})"))
    head, first, rest = text.partition("\nfrom ")
    own = MODULE.with_suffix(".pxd").read_text().splitlines()
    imports = "\n".join(it for it in own if it.startswith("from "))
    (folder / "mistaken_arrivals.pyx").write_text(
        f"{head}\ncdef int mistake = 0\n{imports}\n{first}{rest}{PLANTED}"
    )
    found = find_spec("framework")
    assert found is not None
    assert found.submodule_search_locations is not None
    framework = Path(found.submodule_search_locations[0])
    places = {"include": str(framework / "include"), "framework": str(framework.parent)}
    (folder / "setup.py").write_text(SETUP.format(sources=str(SOURCES), **places))
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    subprocess.run(command, cwd=folder, check=True)


def found_by(folder: Path, number: int, seeds: int) -> int:
    """Return how many seeds find a mistake, in a process of its own."""
    command = [sys.executable, __file__, str(folder), str(number), str(seeds)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return int(done.stdout)


def look(folder: Path, number: int, seeds: int) -> int:
    """Switch a mistake on, and look for it."""
    sys.path[:0] = [str(HERE), str(folder)]
    from replicated_cluster import ReplicatedCluster  # noqa: PLC0415 I001
    import mistaken_arrivals  # noqa: PLC0415
    import replicated_server  # noqa: PLC0415

    mistaken_arrivals.set_mistake(number)
    replicated_server.SegmentJobs = mistaken_arrivals.MistakenJobs
    found = 0
    for seed in range(seeds):
        try:
            ReplicatedCluster(seed).run()
        except Exception:  # noqa: BLE001
            found += 1
    return found


if __name__ == "__main__":
    if len(sys.argv) == 2:
        build(Path(sys.argv[1]))
    else:
        print(look(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))  # noqa: T201
