"""Machines of plugins that live in worlds of chance: which there are, and how they are played."""

from __future__ import annotations

import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from random import Random
from typing import TYPE_CHECKING, Protocol

from tests.fuzz import leafs, mesh

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class World(Protocol):
    """What one seed makes of the machines of a plugin."""

    def run(self) -> None:
        """Let things happen, and look that what must hold does.

        Raises:
            AssertionError: It does not.
        """


WORLDS: Mapping[str, Callable[[Random], World]] = {"mesh": mesh.World, "leafs": leafs.World}
"""By the name of the target."""


def fuzz(name: str, seconds: float, seed: int) -> int | None:
    """Do what `fuzz_here` does in a process of its own, as others are at work meanwhile."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(fuzz_here, name, seconds, seed).result()


def fuzz_here(name: str, seconds: float, seed: int) -> int | None:
    """Let one world after the other live, each by a seed of its own.

    Args:
        name: Of the worlds.
        seconds: So long; one world at least.
        seed: Of the first one.

    Returns:
        The seed of the one that failed, if one has.
    """
    end_s, runs = time.perf_counter() + seconds, 0
    while runs == 0 or time.perf_counter() < end_s:
        try:
            WORLDS[name](Random(seed + runs)).run()
        except Exception:  # noqa: BLE001 - whatever it is, it is what was looked for
            traceback.print_exc()
            print(f"{name}: failed; to play it again:")
            print(f"  python -m tests.fuzz --world {name} {seed + runs}")
            return seed + runs
        runs += 1
    print(f"{name}: {runs} worlds")
    return None
