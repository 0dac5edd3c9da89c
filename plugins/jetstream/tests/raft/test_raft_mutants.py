"""The tests find mistakes: of those in `raft_mutants.py`, all but the few that are named here."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from raft_mutants import MUTANTS, build, found_by

SEEDS = 160
MISSED: set[str] = set()
FOUND_BY_CLUSTERS_MIN = 35
"""Of the others nothing comes unless several things go wrong at once; the thesis finds them."""


@pytest.mark.slow
@pytest.mark.sim
@pytest.mark.timeout(1800)
def test_mistakes_are_found(tmp_path: Path) -> None:
    build(tmp_path)
    assert not found_by(tmp_path, 0, 3), "found without a mistake"

    with ThreadPoolExecutor(2) as pool:
        numbers = range(1, len(MUTANTS) + 1)
        found = list(pool.map(lambda number: found_by(tmp_path, number, SEEDS), numbers))
    names = [mutant.name for mutant in MUTANTS]
    print("\n".join(f"{name}: {by}" for name, by in zip(names, found, strict=True)))  # noqa: T201

    assert sum(by.startswith("seed") for by in found) >= FOUND_BY_CLUSTERS_MIN
    assert MISSED == {name for name, by in zip(names, found, strict=True) if not by}
