"""Publishers under rules that record what they publish: `python -m bench.taps --rounds 7`.

Servers of ours: one without a rule, one that records into a stream, one into Parquet. In turns a
publisher sends messages of 128 B to one that listens, as fast as the server takes them, and of each
server it is shown what of the first one's rate is kept, in medians, and which share of the messages
was recorded: what there is no room for is dropped and counted.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bench.loadgen import build_loadgen, run_loadgen
from framework.testing import OURS, Fleet

if TYPE_CHECKING:
    from framework.testing import ServerProcess

RULES: Final = {
    "no rule": "",
    "another subject": 'tap { rules { r { subjects: ["other.>"], storage: memory } } }',
    "into a stream": 'tap { rules { r { subjects: ["bench.>"], storage: memory } } }',
    "into Parquet": 'tap { rules { r { subjects: ["bench.>"], sink: parquet, folder: "DIR" } } }',
}


def main() -> None:
    """Measure in turns."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--subjects", default="shared", choices=["shared", "wild"])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        fleet = Fleet(Path(folder))
        loadgen = build_loadgen(Path(folder))
        try:
            servers = {name: started(fleet, folder, name) for name in RULES}
            rates = measured(servers, loadgen, arguments)
            show(servers, rates)
        finally:
            fleet.stop()
    print(f"load {os.getloadavg()[0]:.1f}")


def started(fleet: Fleet, folder: str, name: str) -> ServerProcess:
    """Return a server with a rule."""
    own = Path(folder, name.replace(" ", "-"))
    config = f'http: "127.0.0.1:-1"\njetstream {{ store_dir: "{own}" }}\n'
    rule = RULES[name].replace("DIR", f"{own}/rows")
    return fleet.start("-plugin", "framework_jetstream.plugin", kind=OURS, config=config + rule)


def measured(
    servers: dict[str, ServerProcess], loadgen: Path, arguments: argparse.Namespace
) -> dict[str, list[tuple[float, float]]]:
    """Return messages a second, and messages, of each round of each server."""
    options = ("pubs=1", "subs=1", f"seconds={arguments.seconds}", f"subjects={arguments.subjects}")
    rates: dict[str, list[tuple[float, float]]] = {name: [] for name in servers}
    names = list(servers)
    for turn in range(arguments.rounds):
        first = turn % len(names)
        for name in (*names[first:], *names[:first]):
            done = run_loadgen(loadgen, "core", [servers[name]], *options)
            rates[name].append((done["receive_rate"], done["published"]))
    return rates


def show(servers: dict[str, ServerProcess], rates: dict[str, list[tuple[float, float]]]) -> None:
    """Print medians."""
    plain = [rate for rate, _ in rates["no rule"]]
    for name, rounds in rates.items():
        kept = [rate / other for (rate, _), other in zip(rounds, plain, strict=True)]
        each = " ".join(f"{it:.2f}" for it in kept)
        median = statistics.median(rate for rate, _ in rounds)
        said = f"{name:18} {median:12,.0f} messages/s  kept {statistics.median(kept):.2f} ({each})"
        for rule in servers[name].document("/tapz")["rules"] if RULES[name] else ():
            total = sum(count for _, count in rounds)
            said += f"  recorded {rule['messages'] / total:.2f}, {rule['problem'] or 'no problem'}"
        print(said)


if __name__ == "__main__":
    main()
