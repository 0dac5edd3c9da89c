"""Contestants that take turns, and how the first one compares to the others."""

from __future__ import annotations

import statistics
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from typing_extensions import override

from framework.testing import OURS

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping, Sequence


@dataclass(frozen=True, slots=True)
class Contestant:
    """A kind of server, and what stands in its `cluster` block besides names and addresses."""

    kind: str
    """`OURS`, the version of a real server, or the path of a program with the same flags."""
    settings: str = ""

    @classmethod
    def parsed(cls, text: str) -> Self:
        """Read a kind and settings, such as `ours pool_size: -1, compression: s2_fast`."""
        kind, _, settings = text.strip().partition(" ")
        return cls(kind, settings.strip())

    @override
    def __str__(self) -> str:
        """Return what `parsed` reads."""
        return f"{self.kind} {self.settings}".strip()


def add_contestants(parser: argparse.ArgumentParser) -> None:
    """Add the options that say who takes part, and how often."""
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--server",
        action="append",
        type=Contestant.parsed,
        dest="contestants",
        help=f"{OURS}, a version or a path, then settings of the `cluster` block; once for each",
    )


def contest(
    title: str,
    options: argparse.Namespace,
    figures: Sequence[str],
    measure: Callable[[Contestant], Sequence[float]],
    contestants: Sequence[Contestant] = (Contestant(OURS), Contestant("2.15.2")),
) -> Mapping[Contestant, Sequence[Sequence[float]]]:
    """Run all rounds, and print the medians and the ratios of the first contestant to each.

    Args:
        title: What is measured.
        options: With what `add_contestants` added.
        figures: What `measure` returns, by name.
        measure: Called for each contestant in each round.
        contestants: Unless the options name others.

    Returns:
        The figures of each round.
    """
    contestants = options.contestants or contestants
    found: dict[Contestant, list[Sequence[float]]] = {it: [] for it in contestants}
    for index in range(options.rounds):
        turn = index % len(contestants)
        for contestant in (*contestants[turn:], *contestants[:turn]):
            values = measure(contestant)
            found[contestant].append(values)
            print(title, contestant, *(f"{value:,.3f}" for value in values), file=sys.stderr)
    first = found[contestants[0]]
    print(f"{title}:")
    for contestant, rounds in found.items():
        words = []
        for name, ours, theirs in zip(
            figures, zip(*first, strict=True), zip(*rounds, strict=True), strict=True
        ):
            ratios = (
                one / other if other else float("nan" if one == 0 else "inf")
                for one, other in zip(ours, theirs, strict=True)
            )
            ratio = statistics.median(ratios)
            words.append(f"{name} {statistics.median(theirs):,.3f} ({ratio:.2f})")
        print(f"    {contestant!s:32} {'  '.join(words)}", flush=True)
    return found
