"""Collects measurements and writes them as tables."""

from __future__ import annotations

import datetime as dt
import os
import platform
import shlex
import statistics
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from framework.testing import OURS

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from bench.workloads import Workload

REAL = ("2.15.2", "2.9.10")
_CPU = "server_cpu_s_per_million"
_NOTHING = "-"


@dataclass
class Results:
    """What was measured: workload and contestant to one document per round."""

    documents: dict[tuple[str, str], list[dict[str, float]]] = field(default_factory=dict)

    def add(self, workload: Workload, kind: str, document: dict[str, float]) -> None:
        """Keep one measurement."""
        self.documents.setdefault((workload.name, kind), []).append(document)

    def values(self, workload: Workload, kind: str, key: str) -> list[float]:
        """Return one value per round; empty when it was not measured."""
        rounds = self.documents.get((workload.name, kind), [])
        return [document[key] for document in rounds if key in document]

    def ratio(
        self, workload: Workload, kinds: Sequence[str], key: str, *, more_is_better: bool
    ) -> float | None:
        """Return ours to the best of the others of the same round, as median over the rounds."""
        others = [kind for kind in kinds if kind != OURS]
        columns = [self.values(workload, kind, key) for kind in (OURS, *others)]
        if not columns[0]:
            return None
        better = max if more_is_better else min
        rounds = zip(*[column for column in columns if column], strict=True)
        ratios = [ours / better(theirs) for ours, *theirs in rounds if theirs and min(theirs) > 0]
        return statistics.median(ratios) if ratios else None


def number(value: float) -> str:
    """Write a number with three digits that count."""
    for limit, unit in ((1e6, "M"), (1e3, "k")):
        if value >= limit:
            return f"{value / limit:.3g}{unit}"
    return f"{value:.3g}"


def spread(values: Sequence[float]) -> str:
    """Write median (least, most)."""
    if not values:
        return _NOTHING
    return f"{number(statistics.median(values))} ({number(min(values))}, {number(max(values))})"


def table(results: Results, workloads: Sequence[Workload], kinds: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a Markdown table."""
    yield f"| workload | unit | {' | '.join(kinds)} | ratio | floor / goal | CPU |"
    yield "| --- | --- |" + " --- |" * (len(kinds) + 3)
    for workload in workloads:
        cells = [spread(results.values(workload, kind, workload.key)) for kind in kinds]
        ratio = results.ratio(workload, kinds, workload.key, more_is_better=workload.more_is_better)
        cpu = results.ratio(workload, kinds, _CPU, more_is_better=False)
        yield (
            f"| {workload.name} | {workload.unit} | {' | '.join(cells)} "
            f"| {judged(ratio, workload)} "
            f"| {bounds(workload)} | {f'{1 / cpu:.1f}x lower' if cpu else _NOTHING} |"
        )


def bounds(workload: Workload) -> str:
    """Write what is to be reached."""
    if workload.limit is not None:
        return f"at most {workload.limit:g} {workload.unit}"
    return (
        " / ".join(f"{value:g}" for value in (workload.floor, workload.goal) if value) or _NOTHING
    )


def judged(ratio: float | None, workload: Workload) -> str:
    """Write a ratio and whether it reaches the floor."""
    if ratio is None:
        return _NOTHING
    if workload.floor is None:
        return f"{ratio:.2f}"
    reached = ratio >= workload.floor if workload.more_is_better else ratio <= workload.floor
    return f"{ratio:.2f}" if reached else f"**{ratio:.2f}**"


def cpu_table(
    results: Results, workloads: Sequence[Workload], kinds: Sequence[str]
) -> Iterator[str]:
    """Yield the lines of a table of CPU seconds per million messages."""
    yield f"| workload | {' | '.join(kinds)} |"
    yield "| --- |" + " --- |" * len(kinds)
    for workload in workloads:
        cells = [results.values(workload, kind, _CPU) for kind in kinds]
        if any(cells):
            yield f"| {workload.name} | {' | '.join(map(spread, cells))} |"


def report(
    results: Results,
    options: argparse.Namespace,
    workloads: Sequence[Workload],
    kinds: Sequence[str],
) -> str:
    """Return the whole text of RESULTS.md."""
    machine = f"{os.cpu_count()} CPUs ({cpu_model()}), {platform.system()} {platform.release()}"
    today = dt.datetime.now(dt.UTC).date().isoformat()
    lines = [
        "# Results",
        "",
        f"{today}, {machine}, Python {platform.python_version()},",
        f"load average at the end {os.getloadavg()[0]:.1f}.",
        "",
        f"    python -m bench {shlex.join(sys.argv[1:])}",
        "",
        f"Median (least, most) of {options.rounds} rounds of {options.seconds:g} s each,",
        "the servers in turn within a round, over loopback, with one load generator for all.",
        "A ratio is ours to the best of the others in the same round, then the median",
        "over the rounds; in bold where it misses the floor. Rates are of messages published.",
        "",
        *table(results, workloads, kinds),
        "",
        "Server CPU seconds per million messages published:",
        "",
        *cpu_table(results, workloads, kinds),
        "",
    ]
    return "\n".join(lines)


def cpu_model() -> str:
    """Return what the processor calls itself."""
    for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return "unknown"
