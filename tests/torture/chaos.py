"""Streams that are scaled, moved and led by others at random, while servers die.

    python -m tests.torture.chaos --seeds 10
    python -m tests.torture.chaos --weathers power --seeds 1 --first 7 --told

Clients publish to each stream of a cluster of five, each message again until it is acknowledged,
and others pull from a consumer and wait until each acknowledgement is confirmed. When all is well
again, what each server has is compared with what was acknowledged, and what the consumers
delivered with what is there. The exit code is 1 if anything of ours is wrong.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from framework.testing.fleet import OURS
from tests.torture.changes import WEATHERS, Changes
from tests.torture.cluster import TorturedCluster
from tests.torture.used_stream import IN_MEMORY, UsedStream
from tests.torture.waiting import NotSoError, until

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.torture.stream import TorturedStream
    from tests.torture.used_stream import Found

NAMES = ("n1", "n2", "n3", "n4", "n5")
STREAMS = {"F1": 1, "F2": 3, "F3": 3}
"""Replicas at first."""
NOT_FOUND = 404


def tidied(
    cluster: TorturedCluster, passing: TorturedStream, streams: Sequence[TorturedStream]
) -> None:
    """Wait until all servers are there, and each has exactly the streams that it is to have."""

    def gone() -> bool:
        said = passing.ask("STREAM.DELETE")
        return said.get("error", {}).get("code") == NOT_FOUND and not cluster.servers_of(passing)

    until("all servers belong to the meta group", cluster.are_together)
    until(f"{passing.name} is gone everywhere", gone)
    for it in streams:
        names = it.names()
        until(
            f"only {names} have {it.name}",
            lambda it=it, names=names: cluster.servers_of(it) == names,
        )


def run(kind: str, weather: str, seed: int, seconds: float, *, told: bool = False) -> list[Found]:
    """Return what is wrong with each stream after so many seconds of a weather."""
    with tempfile.TemporaryDirectory() as folder:
        cluster = TorturedCluster(
            kind, Path(folder), NAMES, has_wires=weather == "links", has_disks=weather == "power"
        )
        wanted = STREAMS | ({IN_MEMORY: 3} if weather == "calm" else {})
        used = [UsedStream(cluster, name, at) for at, name in enumerate(wanted)]
        changes = Changes(cluster, [it.stream for it in used], seed)
        good = False
        try:
            for it in used:
                it.begin(wanted[it.stream.name])
            changes.go_on(WEATHERS[weather], seconds)
            for it in used:
                it.settle()
            tidied(cluster, changes.passing, [it.stream for it in used])
            found = [it.found() for it in used]
            good = all(it.is_good for it in found)
            return found
        finally:
            if told and not good:
                print(*changes.done, *(it.stream.info() for it in used), sep="\n", flush=True)
                cluster.write_logs()
                input(f"the servers still run in {folder}; press Enter ")
            for it in used:
                it.stop()
            cluster.stop()


def line(found: Sequence[Found]) -> str:
    """Return the counts of all streams, summed."""
    counts = [
        (it.acknowledged, it.lost, it.moved, it.twice, it.changed, it.unordered, it.replicas_differ)
        for it in (one.history for one in found)
    ]
    more = [(it.missed, it.again, it.other) for it in found]
    sums = [*map(sum, zip(*counts, strict=True)), *map(sum, zip(*more, strict=True))]
    return " ".join(f"{it:>9}" for it in sums)


def main() -> int:
    """Try seeds, print a line for each, and tell by the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--weathers", default="calm,kills,links,power", help=f"of {', '.join(WEATHERS)}"
    )
    parser.add_argument("--kinds", default=OURS, help="ours, or versions")
    parser.add_argument("--seeds", type=int, default=1, help="how many of each weather")
    parser.add_argument("--first", type=int, default=1, help="seed")
    parser.add_argument("--for", type=float, default=40.0, dest="seconds", help="seconds")
    parser.add_argument("--told", action="store_true", help="of a bad one, what was done; waits")
    options = parser.parse_args()
    wrong = 0
    head = ("weather", "server", "seed", "acked", "lost", "moved", "twice", "changed", "order")
    print(*(f"{it:>9}" for it in (*head, "replicas", "missed", "again", "other")), flush=True)
    for weather in options.weathers.split(","):
        if weather == "power" and os.geteuid():
            print(f"{weather:>9} only root can make file systems", flush=True)
            continue
        for kind in options.kinds.split(","):
            for seed in range(options.first, options.first + options.seeds):
                row = " ".join(f"{it:>9}" for it in (weather, kind, seed))
                try:
                    found = run(kind, weather, seed, options.seconds, told=options.told)
                except NotSoError as problem:
                    print(row, problem, flush=True)
                    wrong += kind == OURS
                    continue
                wrong += kind == OURS and not all(it.is_good for it in found)
                print(row, line(found), flush=True)
                for example in [it for one in found for it in one.history.examples[:3]]:
                    print(f"          {example}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
