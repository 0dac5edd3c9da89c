"""Fuzz the compiled parsers, guided by the edges they take: `python -m tests.fuzz [FACTOR]`.

Builds the compiled rooms with the compiler's coverage and address sanitizer in a folder of its own.
What made a run fail is kept in `fuzz-failure.CLIENT` or `fuzz-failure.ROUTE`, and is
replayed by `python -m tests.fuzz --replay FILE`.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.instrumented import ROOT, build, compiler

FLAGS = "-O1 -g -fsanitize=address -fsanitize-coverage=trace-pc"
RUNS = 6_000
"""Inputs of each kind of link in a short run; about a minute."""


def main() -> int:
    """Return the worker's exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("factor", type=int, nargs="?", default=1, help="times as many runs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--replay", type=Path, help="a file kept by a run that failed")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="framework-fuzz-") as name:
        folder = Path(name) / "tree"
        environment = build(folder, FLAGS) | {
            "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0",
            "LD_PRELOAD": f"{_edges(Path(name))} {_asan()}",
        }
        kept = Path(name) / "fuzz-failure"
        options = ["--input", str(kept), "--seed", str(arguments.seed)]
        options += ["--runs", str(RUNS * arguments.factor)]
        if arguments.replay:
            shutil.copy2(arguments.replay, kept)
            options += ["--replay", arguments.replay.suffix[1:]]
        command = [sys.executable, "-m", "tests.fuzz.worker", *options]
        code = subprocess.run(command, cwd=folder, env=environment, check=False).returncode
        for file in Path(name).glob("fuzz-failure.*"):
            shutil.copy2(file, ROOT)
            print(f"kept {file.name}; replay: ./dev python -m tests.fuzz --replay {file.name}")
    return code


def _edges(folder: Path) -> Path:
    library = folder / "edges.so"
    source = str(Path(__file__).with_name("edges.c"))
    subprocess.run([compiler(), "-O2", "-shared", "-fPIC", source, "-o", library], check=True)
    return library


def _asan() -> str:
    command = [compiler(), "-print-file-name=libasan.so"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
