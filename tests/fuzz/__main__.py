"""Fuzzes the compiled code with bytes of clients, routes and S2 streams, guided by its coverage.

And the mesh of the route plugin, with whatever servers may say and do.

    python -m tests.fuzz             half a minute, as CI does
    python -m tests.fuzz 60          sixty times as long
    python -m tests.fuzz 60 --keep   and what reaches something new goes into the corpus
    python -m tests.fuzz --replay fuzz-failure.route
    python -m tests.fuzz --mesh 4711

Properties: no crash, no bad memory access, no undefined behaviour, no hang; and the same outputs
and events whether the bytes come whole or in pieces.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.fuzz import mesh
from tests.fuzz.building import FOLDER, ROOT, prepare

if TYPE_CHECKING:
    from collections.abc import Sequence

CORPUS = Path(__file__).parent / "corpus"
KINDS = ("client", "route", "s2")
SECONDS = 12.0
"""Of each kind, with a factor of 1."""
CORPUS_LIMIT_S = 300.0
"""In which the corpus, or one input, must be through; it takes a few seconds."""


def fuzz(kind: str, options: argparse.Namespace, environment: dict[str, str]) -> bool:
    """Fuzz one kind of input; keep the input that failed, and say how to play it again."""
    with tempfile.TemporaryDirectory() as folder:
        current = Path(folder) / "current"
        words = [kind, "--corpus", CORPUS / kind, "--current", current]
        words += ["--seconds", str(SECONDS * options.factor), "--seed", str(options.seed)]
        limit_s = CORPUS_LIMIT_S + 2 * SECONDS * options.factor
        if work([*words, *(["--keep"] if options.keep else [])], environment, limit_s):
            return True
        failure = ROOT / f"fuzz-failure.{kind}"
        shutil.copy2(current, failure)
    print(f"{kind}: failed with seed {options.seed}; to play it again:")
    print(f"  python -m tests.fuzz --replay {failure.name}")
    return False


def work(words: Sequence[str | Path], environment: dict[str, str], limit_s: float) -> bool:
    """Run the worker in the instrumented copy; tell whether all went well."""
    command = [sys.executable, "-m", "tests.fuzz.worker", *words]
    process = subprocess.Popen(command, cwd=FOLDER / "tree", env=environment)
    try:
        return process.wait(limit_s) == 0
    except subprocess.TimeoutExpired:
        print(f"it has not ended after {limit_s:g} s")
        return False
    finally:
        process.kill()
        process.wait()


def main() -> int:
    """Build, fuzz all kinds, and tell by the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("factor", type=float, nargs="?", default=1.0, help="times half a minute")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    parser.add_argument("--keep", action="store_true", help="add to the corpus")
    parser.add_argument("--replay", type=Path, help="play one input that failed")
    parser.add_argument("--mesh", type=int, help="play the world of a seed that failed")
    options = parser.parse_args()
    if options.mesh is not None:
        return not mesh.fuzz(0.0, options.mesh)
    environment = prepare()
    if options.replay:
        kind = options.replay.suffix.removeprefix(".")
        words = [kind, "--replay", options.replay.resolve()]
        return not work(words, environment, CORPUS_LIMIT_S)
    results = [mesh.fuzz(SECONDS * options.factor, options.seed)]
    results += [fuzz(kind, options, environment) for kind in KINDS]
    return not all(results)


if __name__ == "__main__":
    sys.exit(main())
