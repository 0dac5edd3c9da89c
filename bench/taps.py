"""Publishers under rules that record what they publish: `python -m bench.taps --rounds 7`.

Servers of ours: one without a rule, and others with 1, 100 and 10,000 rules (`--rules`), of which
none is of what is published, or one records it into a stream or into Parquet. In turns a publisher
sends messages of 128 B to one that listens, as fast as the server takes them, and of each server it
is shown what of the first one's rate is kept, in medians, and which share of the messages was
recorded: what there is no room for is dropped and counted. A server is measured when all of its
rules have their streams. What a tapped message costs the plane is measured as `bench.policies` does
it, without sockets.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bench import policies
from bench.asked import asked
from bench.loadgen import build_loadgen, run_loadgen
from framework.testing import OURS, Fleet

if TYPE_CHECKING:
    from framework.testing import ServerProcess

NO_RULE: Final = "no rule"
PARQUET: Final = "one into Parquet"
SINKS: Final = {
    "on other subjects": "",
    "one into a stream": 'subjects: ["bench.>"], storage: memory, max_bytes: 256MB',
    PARQUET: 'subjects: ["bench.>"], sink: parquet, folder: "DIR"',
}
"""What the last of some rules is."""
IDLE_RULE: Final = "storage: memory, max_bytes: 64KB"
"""Into streams that all have room in the memory of a server."""
KEPT, KEPT_BESIDE = 0.9, 0.99
"""What is asked of the rate where a rule records, and where it is of other subjects."""
PLANE_US: Final = 0.15
"""Of processor time a tapped message may cost the plane."""
PLANE_ROUNDS: Final = 4
LOOK_S: Final = 1.0
"""Between two questions for streams: the answer of a server with 10,000 takes its time."""


def main() -> None:
    """Measure in turns."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--subjects", default="shared", choices=["shared", "wild"])
    parser.add_argument("--rules", type=int, nargs="+", default=[1, 100, 10_000], metavar="N")
    arguments = parser.parse_args()
    rows = {f"{count:,}, {sink}": (count, sink) for count in arguments.rules for sink in SINKS}
    with tempfile.TemporaryDirectory() as folder:
        fleet = Fleet(Path(folder))
        loadgen = build_loadgen(Path(folder))
        try:
            servers = {NO_RULE: started(fleet, folder, "")}
            for name, row in rows.items():
                servers[name] = started(fleet, folder, tap_of(*row))
                await_streams(servers[name], row[0] - (row[1] == PARQUET))
            rates = measured(servers, loadgen, arguments)
            show(servers, rates)
        finally:
            fleet.stop()
    for count in arguments.rules:
        show_plane(count)
    print(f"load {os.getloadavg()[0]:.1f}")


def tap_of(count: int, sink: str) -> str:
    """Return a block of so many rules, the last of which has this sink."""
    rules = [f'x{at} {{ subjects: ["x{at}.>"], {IDLE_RULE} }}' for at in range(count - 1)]
    last = SINKS[sink] or f'subjects: ["other.>"], {IDLE_RULE}'
    return "\n".join(["tap { rules {", *rules, f"r {{ {last} }}", "} }"])


def started(fleet: Fleet, folder: str, tap: str) -> ServerProcess:
    """Return a server with rules, and streams of its own."""
    own = Path(tempfile.mkdtemp(dir=folder))
    config = f'http: "127.0.0.1:-1"\njetstream {{ store_dir: "{own}" }}\n'
    config += tap.replace("DIR", f"{own}/rows")
    return fleet.start("-plugin", "framework_jetstream.plugin", kind=OURS, config=config)


def await_streams(server: ServerProcess, count: int) -> None:
    """Wait until a server has so many streams."""
    while server.document("/jsz")["streams"] < count:
        time.sleep(LOOK_S)


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


def show_plane(count: int) -> None:
    """Print what a message costs the plane more where one of so many rules taps it."""
    row = policies.Row("", policies.taps(count, "x%d.*", matching=1), KEPT)
    for subjects in policies.SUBJECTS:
        plain_ns, tapped_ns, _, _ = policies.measure(row, subjects, PLANE_ROUNDS)
        name = f"{count:,} rules, {subjects:,} subjects, processor time of a tapped message"
        print(asked(name, (tapped_ns - plain_ns) / 1000, PLANE_US, " us", at_most=True))


def show(servers: dict[str, ServerProcess], rates: dict[str, list[tuple[float, float]]]) -> None:
    """Print medians."""
    plain = [rate for rate, _ in rates[NO_RULE]]
    for name, rounds in rates.items():
        kept = [rate / other for (rate, _), other in zip(rounds, plain, strict=True)]
        each = " ".join(f"{it:.2f}" for it in kept)
        median = statistics.median(rate for rate, _ in rounds)
        said = f"{name:26} {median:12,.0f} messages/s  kept {statistics.median(kept):.2f} ({each})"
        for rule in servers[name].document("/tapz")["rules"] if name != NO_RULE else ():
            if rule["name"] != "r" or "other" in name:
                continue
            total = sum(count for _, count in rounds)
            said += f"  recorded {rule['messages'] / total:.2f}, dropped "
            said += f"{rule['dropped'] / total:.2f}: {rule['why_dropped'] or rule['problem']}"
        print(said)
        if name != NO_RULE:
            limit = KEPT_BESIDE if "other" in name else KEPT
            print(asked(f"{name}, kept", statistics.median(kept), limit))


if __name__ == "__main__":
    main()
