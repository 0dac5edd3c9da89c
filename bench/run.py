"""Measure our server beside the real ones, in turn, with one load generator; see README.md."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from bench.clusters import compile_all
from bench.loadgen import build_loadgen, run_loadgen
from bench.logins import measure_accounts, measure_permissions, measure_storm, measure_users
from bench.report import REAL, Results, number, report
from bench.workloads import WORKLOADS, Workload
from framework.testing import OURS, Fleet, peers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from framework.testing import ServerProcess

FOLDER = Path(__file__).parent
ONE_CPU = 0
WEBSOCKET = 'websocket { listen: "127.0.0.1:-1", no_tls: true }'
ROUNDS_MIN = 3


def measure(
    loadgen: Path, servers: Sequence[ServerProcess], workload: Workload, seconds: float
) -> dict[str, float]:
    """Run the load generator once and return its document."""
    if workload.one_cpu:
        stay_on_one_cpu(servers)
    before = ("taskset", "-c", str(ONE_CPU)) if workload.one_cpu else ()
    options = (f"seconds={seconds}", *workload.options)
    if workload.websocket:
        found = re.search(r"websocket clients on ws://\S*:(\d+)", servers[0].log())
        assert found, servers[0].log()
        options = (*options, f"ws={found[1]}")
    return run_loadgen(loadgen, workload.mode, servers, *options, before=before)


def stay_on_one_cpu(servers: Sequence[ServerProcess]) -> None:
    """Move all threads of servers; those they start later stay there too."""
    for server in servers:
        for thread in psutil.Process(server.pid).threads():
            os.sched_setaffinity(thread.id, {ONE_CPU})


def start(fleet: Fleet, kind: str, workload: Workload) -> list[ServerProcess]:
    """Start what a workload needs: one server, or two with a route."""
    if workload.cluster:
        return fleet.start_cluster(kind, kind)
    return [fleet.start(kind=kind, config=WEBSOCKET if workload.websocket else None)]


def measure_start(_loadgen: Path, fleet: Fleet, kind: str, _seconds: float) -> dict[str, float]:
    """Time one start, and take the memory of a server that has nothing to do."""
    begin_s = time.perf_counter()
    server = fleet.start(kind=kind)
    ready_s = time.perf_counter() - begin_s
    rss_bytes = psutil.Process(server.pid).memory_info().rss
    server.stop()
    return {"ready_s": ready_s, "rss_mib": rss_bytes / 2**20}


OWN_MODES: Mapping[str, Callable[[Path, Fleet, str, float], dict[str, float]]] = {
    "start": measure_start,
    "users": measure_users,
    "accounts": measure_accounts,
    "permissions": measure_permissions,
    "storm": measure_storm,
}
"""Modes that start their servers themselves; all others are the load generator's."""


def run_round(
    loadgen: Path,
    kinds: Sequence[str],
    workloads: Sequence[Workload],
    seconds: float,
    results: Results,
) -> None:
    """Measure each workload with each contestant, one after the other."""
    for workload in workloads:
        for kind in kinds:
            with tempfile.TemporaryDirectory() as folder:
                fleet = Fleet(Path(folder))
                try:
                    if own := OWN_MODES.get(workload.mode):
                        document = own(loadgen, fleet, kind, seconds)
                    else:
                        document = measure(loadgen, start(fleet, kind, workload), workload, seconds)
                finally:
                    fleet.stop()
            results.add(workload, kind, document)
            print(f"{workload.name:32} {kind:8} {number(document[workload.key])}", file=sys.stderr)


def parsed_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--rounds", type=int, default=5, help=f"at least {ROUNDS_MIN} for results that count"
    )
    parser.add_argument("--seconds", type=float, default=2.0, help="of each run")
    parser.add_argument("--only", default="", help="workloads whose name contains this")
    parser.add_argument(
        "--servers",
        default=",".join((OURS, *REAL)),
        help=f"contestants, with commas: {OURS}, versions, paths of programs with the same flags",
    )
    parser.add_argument("--write", action="store_true", help="write RESULTS.md")
    parser.add_argument("--json", type=Path, help="write every measurement to this file")
    return parser.parse_args()


def main() -> None:
    """Run all rounds and print the tables."""
    options = parsed_options()
    kinds = options.servers.split(",")
    for kind in kinds:
        if kind != OURS and os.sep not in kind:
            peers.bring(kind)
    workloads = [workload for workload in WORKLOADS if options.only in workload.name]
    results = Results()
    compile_all()
    with tempfile.TemporaryDirectory() as folder:
        loadgen = build_loadgen(Path(folder))
        for index in range(options.rounds):
            turn = kinds[index % len(kinds) :] + kinds[: index % len(kinds)]
            run_round(loadgen, turn, workloads, options.seconds, results)
    text = report(results, options, workloads, kinds)
    print(text)
    if options.write:
        (FOLDER / "RESULTS.md").write_text(text, "utf-8")
    if options.json:
        rows = [
            {"workload": w, "server": k, "rounds": r} for (w, k), r in results.documents.items()
        ]
        options.json.write_text(json.dumps(rows, indent=1), "utf-8")
