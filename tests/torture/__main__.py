"""Real clusters of three under faults: ours and nats-server's, side by side.

    python -m tests.torture --rows kill,pause --trials 3
    python -m tests.torture --rows kill --kinds ours --trials 20

While four clients publish, each message again until it is acknowledged, something is done to the
servers; when all is well again, what each of them has is compared with what was acknowledged. The
exit code is 1 if anything of ours is wrong.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from pathlib import Path

from framework.testing.fleet import OURS
from tests.torture.cluster import TorturedCluster
from tests.torture.history import Verdict, judge
from tests.torture.publisher import Publisher, all_acked, longest_silence
from tests.torture.rows import ROWS
from tests.torture.waiting import NotSoError, rest, until

PUBLISHERS = 4
CALM_S = 1.0
"""Of publishing before and after a fault."""


def trial(cluster: TorturedCluster, row: str, number: int) -> tuple[list[Publisher], float | None]:
    """Do something to a cluster; return who has published, and for how long none was answered."""
    publishers = [Publisher(f"{row}{number}p{it}", cluster.ports, it) for it in range(PUBLISHERS)]
    for it in publishers:
        it.start()
    rest(CALM_S)
    began = ROWS[row].do(cluster)
    until("something is acknowledged again", lambda: longest_silence(publishers, began) is not None)
    rest(CALM_S)
    for it in publishers:
        it.end()
    until("all replicas are current", cluster.stream.is_current)
    return publishers, longest_silence(publishers, began)


def run(kind: str, row: str, trials: int) -> tuple[Verdict, list[float]]:
    """Return what is wrong after so many trials, and for how long nobody was answered."""
    with tempfile.TemporaryDirectory() as folder:
        wanted = ROWS[row]
        cluster = TorturedCluster(
            kind, Path(folder), has_wires=wanted.has_wires, has_disks=wanted.has_disks
        )
        try:
            cluster.stream.create()
            publishers: list[Publisher] = []
            times: list[float] = []
            for number in range(trials):
                more, took = trial(cluster, row, number)
                publishers += more
                times += [took] if took is not None else []
            return judge(all_acked(publishers), cluster.stream.replicas()), times
        finally:
            cluster.stop()


def main() -> int:
    """Run rows on kinds, print a table, and tell by the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", default=",".join(ROWS), help=f"of {', '.join(ROWS)}")
    parser.add_argument("--kinds", default=f"{OURS},2.15.2", help="ours, or versions")
    parser.add_argument("--trials", type=int, default=3)
    options = parser.parse_args()
    wrong = 0
    head = ("row", "server", "acked", "lost", "moved", "twice", "changed", "order", "replicas")
    print(*(f"{it:>9}" for it in head), " longest silence, median and worst", flush=True)
    for row in options.rows.split(","):
        if ROWS[row].has_disks and os.geteuid():
            print(f"{row:>9} only root can make file systems", flush=True)
            continue
        for kind in options.kinds.split(","):
            try:
                found, times = run(kind, row, options.trials)
            except NotSoError as problem:
                print(f"{row:>9} {kind:>9} {problem}", flush=True)
                wrong += kind == OURS
                continue
            wrong += kind == OURS and not found.is_good
            counts = (found.acknowledged, found.lost, found.moved, found.twice, found.changed)
            more = (found.unordered, found.replicas_differ)
            took = f"{statistics.median(times):.2f} s {max(times):.2f} s" if times else "none"
            print(*(f"{it:>9}" for it in (row, kind, *counts, *more)), f" {took}", flush=True)
            for example in found.examples[:3]:
                print(f"          {example}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
