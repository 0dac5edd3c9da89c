"""Whether a run of the fuzzer has failed: what failed is run once more, alone and with its seed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple, Protocol

from tools.rerun_alone import FLAKY_MAX, table

if TYPE_CHECKING:
    from collections.abc import Sequence


class Failure(NamedTuple):
    """How one kind of input has failed."""

    how: str
    is_proof: bool = False
    """Whether once is enough: memory that was misused was misused."""


class Target(Protocol):
    """What is fuzzed with one kind of input."""

    @property
    def name(self) -> str:
        """Return the kind of input."""

    def run(self) -> Failure | None:
        """Fuzz it, and tell how it failed."""

    def run_again(self) -> Failure | None:
        """Do again, with the same seed, what failed before."""


def passes(targets: Sequence[Target], at_once: int = 1) -> bool:
    """Fuzz all targets; tell whether none has failed but by chance, and show which have by chance.

    What failed is tried again alone. Cost: twice that of `run` for each target that fails.

    Args:
        targets: Each does its work in a process of its own, where several run at once.
        at_once: How many.
    """
    with ThreadPoolExecutor(at_once) as pool:
        first = dict(zip(targets, pool.map(lambda it: it.run(), targets), strict=True))
    failed = {target: failure for target, failure in first.items() if failure}
    flaky: dict[str, str] = {}
    for target, failure in failed.items():
        if failure.is_proof:
            print(f"{target.name}: {failure.how}: not tried again")
            continue
        passed = target.run_again() is None
        print(f"{target.name}: {'passed' if passed else 'failed again'} alone")
        if passed:
            flaky[target.name] = failure.how
    if flaky:
        print("flaky:", *table(flaky.items()), sep="\n")
    return len(flaky) == len(failed) and len(flaky) <= FLAKY_MAX
