"""Runs inside the instrumented build: mutates, feeds, keeps what took a new edge.

Whatever the bytes, three things hold: nothing crashes (the address sanitizer watches), nothing
is raised, and the pieces in which the bytes arrive make no difference.
"""

from __future__ import annotations

import argparse
import ctypes
import random
from pathlib import Path

from framework.dataplane import LinkKind
from tests.fuzz.mutation import SEEDS, mutated, some_cuts
from tests.fuzz.target import observe


def main() -> None:
    """Fuzz, or replay one input."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000, help="inputs of each kind of link")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--input", type=Path, required=True, help="where the input is kept")
    parser.add_argument("--replay", choices=[kind.name for kind in SEEDS])
    arguments = parser.parse_args()
    if arguments.replay:
        compare(arguments.input.read_bytes(), LinkKind[arguments.replay], random.Random(0))
        return
    edges = ctypes.CDLL(None)
    for kind in SEEDS:
        keep = arguments.input.with_suffix(f".{kind.name}")
        kept = fuzz(kind, arguments.runs, random.Random(arguments.seed), edges, keep)
        keep.unlink()
        print(f"{kind.name}: {arguments.runs} runs, {kept} kept, {edges.edges_known()} edges")


def fuzz(
    kind: LinkKind, runs: int, rng: random.Random, edges: ctypes.CDLL, keep: Path
) -> int:
    """Return how many inputs were worth keeping."""
    corpus = list(SEEDS[kind])
    with keep.open("wb", buffering=0) as file:
        for run in range(runs + len(SEEDS[kind])):
            is_seed = run < len(SEEDS[kind])
            data = corpus[run] if is_seed else mutated(rng.choice(corpus), corpus, rng)
            file.seek(0)
            file.truncate()
            file.write(data)
            compare(data, kind, rng)
            if edges.edges_new() and not is_seed:
                corpus.append(data)
    return len(corpus)


def compare(data: bytes, kind: LinkKind, rng: random.Random) -> None:
    """Feed `data` whole, in pieces and byte by byte; all must look the same."""
    whole = observe(data, (), kind)
    for cuts in (some_cuts(data, rng), range(1, len(data))):
        pieces = observe(data, cuts, kind)

        assert pieces == whole, f"pieces {list(cuts)[:6]}\n  whole  {whole}\n  pieces {pieces}"


if __name__ == "__main__":
    main()
