"""The simulation finds mistakes in how states in segments arrive: those of `arrival_mutants.py`."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from arrival_mutants import MUTANTS, build, found_by

SEEDS = 120


@pytest.mark.slow
@pytest.mark.sim
@pytest.mark.timeout(1800)
def test_mistakes_are_found(tmp_path: Path) -> None:
    build(tmp_path)
    assert not found_by(tmp_path, 0, 5), "found without a mistake"

    with ThreadPoolExecutor(2) as pool:
        numbers = range(1, len(MUTANTS) + 1)
        found = list(pool.map(lambda number: found_by(tmp_path, number, SEEDS), numbers))
    assert all(found), dict(zip((name for name, *_ in MUTANTS), found, strict=True))
