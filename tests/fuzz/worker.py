"""The loop of the fuzzer: runs in a process of its own, so that a crash of it can be told."""

from __future__ import annotations

import argparse
import ctypes
import faulthandler
import functools
import hashlib
import itertools
import random
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from framework.dataplane import LinkKind
from tests.fuzz import s2_target, target, websocket_target
from tests.fuzz.mutation import mutate

_HANG_S = 20
_COMPARE_EVERY = 4
"""Of the inputs that reach nothing new, one in so many is run in pieces as well."""


Run = Callable[[Iterable[bytes]], list[Any]]
"""Gives the whole outcome of an input that comes in pieces."""


def run_of(kind: str) -> Run:
    """Return what takes the inputs of one kind."""
    if kind == "s2":
        return s2_target.run
    if kind == "websocket":
        return websocket_target.run
    return functools.partial(target.run, getattr(LinkKind, kind.upper()))


def differences(run: Run, data: bytes, cuts: Iterable[int]) -> str:
    """Compare the outcome of `data` in one piece and cut into pieces; empty when they are equal."""
    pieces = [data[begin:end] for begin, end in itertools.pairwise([0, *cuts, len(data)])]
    whole, parts = run([data]), run(pieces)
    for one, other in zip(whole, parts, strict=False):
        if one != other:
            return f"whole: {one}\nin pieces: {other}"
    return "" if len(whole) == len(parts) else f"whole: {whole}\nin pieces: {parts}"


@dataclass
class Fuzzer:
    """One run against one kind of input."""

    run: Run
    corpus_folder: Path
    current: Path
    """Holds the input that runs, for those who find this process dead."""
    rng: random.Random

    def __post_init__(self) -> None:
        self._coverage = ctypes.CDLL(None)
        self._corpus: list[bytes] = []
        self.runs = 0

    def work(self, seconds: float, *, keep: bool) -> str:
        """Fuzz for a time and return the first difference; empty when there was none.

        Args:
            seconds: At least so long, after the corpus was played.
            keep: Write inputs that reach something new into the corpus.
        """
        for path in sorted(self.corpus_folder.iterdir()):
            if found := self._try(path.read_bytes(), keep=False, everywhere=True):
                return found
        end_s = time.perf_counter() + seconds
        while time.perf_counter() < end_s:
            parent = self.rng.choice(self._corpus)
            if found := self._try(mutate(parent, self._corpus, self.rng), keep=keep):
                return found
        return ""

    def edges(self) -> int:
        """Return how many edges of the compiled code were reached."""
        edges: int = self._coverage.coverage_edges()
        return edges

    def size(self) -> int:
        """Return how many inputs the corpus has by now."""
        return len(self._corpus)

    def _try(self, data: bytes, *, keep: bool, everywhere: bool = False) -> str:
        self.current.write_bytes(data)
        faulthandler.dump_traceback_later(_HANG_S, exit=True)
        self.runs += 1
        self._coverage.coverage_begin()
        self.run([data])
        fresh = self._coverage.coverage_end()
        if fresh or everywhere:
            self._corpus.append(data)
            if keep:
                name = hashlib.sha256(data).hexdigest()[:16]
                (self.corpus_folder / name).write_bytes(data)
        found = ""
        if fresh or everywhere or self.runs % _COMPARE_EVERY == 0:
            found = differences(self.run, data, self._cuts(data, all_bytes=bool(fresh)))
        faulthandler.cancel_dump_traceback_later()
        return found

    def _cuts(self, data: bytes, *, all_bytes: bool) -> list[int]:
        if all_bytes:
            return list(range(1, len(data)))
        count = min(len(data), self.rng.randrange(1, 6))
        return sorted(self.rng.sample(range(len(data)), count)) if data else []


def main() -> int:
    """Fuzz, or replay one input."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind")
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--current", type=Path, help="where the input is kept while it is tried")
    parser.add_argument("--keep", action="store_true", help="add to the corpus")
    parser.add_argument("--replay", type=Path, help="try one input, byte by byte, and no more")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--seed", type=int)
    options = parser.parse_args()
    if options.replay:
        data = options.replay.read_bytes()
        found = differences(run_of(options.kind), data, range(1, len(data)))
    else:
        rng = random.Random(options.seed)
        fuzzer = Fuzzer(run_of(options.kind), options.corpus, options.current, rng)
        found = fuzzer.work(options.seconds, keep=options.keep)
        reached = f"{fuzzer.edges()} edges, corpus of {fuzzer.size()}"
        print(f"{options.kind}: {fuzzer.runs} inputs, {reached}")
    print(found, end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
