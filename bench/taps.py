"""Publishers under rules that record what they publish: `python -m bench.taps --rounds 9`.

Servers of ours: one without a rule, and others with 1, 100 and 10,000 rules (`--rules`), of which
none is of what is published, or one records it into a stream or into Parquet. A publisher sends
messages of 128 B to one that listens, as fast as the server takes them: to each server, right
before or behind a turn of the one without rules, so that what else the machine does is in both. Of
each it is shown what of that turn's rate is kept, in medians with both quartiles, the processor
time of a message with all that records it, and which share of the messages was recorded: what there
is no room for is dropped and counted. A server is measured when all of its rules have their
streams. What a tapped message costs the plane is measured as `bench.policies` does it, without
sockets.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from bench import policies
from bench.asked import asked
from bench.loadgen import build_loadgen, run_loadgen
from framework.testing import OURS, Fleet

if TYPE_CHECKING:
    from framework.testing import ServerProcess

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
LOOK_S: Final = 2.0
"""Between two questions for streams: the answer of a server with 10,000 takes its time."""
STREAMS_S_MAX: Final = 300.0
"""Until all rules of a server have their streams."""
Pair: TypeAlias = "tuple[dict[str, float], dict[str, float]]"
"""What the load generator says of a turn without rules, and of one with them."""


def main() -> None:
    """Measure in turns."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=0.5, help="of a turn; %(default)s")
    parser.add_argument("--subjects", default="shared", choices=["shared", "wild"])
    parser.add_argument("--rules", type=int, nargs="+", default=[1, 100, 10_000], metavar="N")
    arguments = parser.parse_args()
    rows = {f"{count:,}, {sink}": (count, sink) for count in arguments.rules for sink in SINKS}
    with tempfile.TemporaryDirectory() as folder:
        fleet = Fleet(Path(folder))
        loadgen = build_loadgen(Path(folder))
        try:
            plain = started(fleet, folder, "")
            servers = {name: started(fleet, folder, tap_of(*row)) for name, row in rows.items()}
            for name, row in rows.items():
                await_streams(servers[name], row[0] - (row[1] == PARQUET))
            pairs = measured(plain, servers, loadgen, arguments)
            for name, server in servers.items():
                show(name, server, pairs[name])
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
    ends_s = time.perf_counter() + STREAMS_S_MAX
    while (found := server.document("/jsz")["streams"]) < count:
        if time.perf_counter() > ends_s:
            problems = {it["problem"] for it in server.document("/tapz")["rules"]}
            raise SystemExit(f"{found} of {count} streams are there: {problems}")
        time.sleep(LOOK_S)


def measured(
    plain: ServerProcess,
    servers: dict[str, ServerProcess],
    loadgen: Path,
    arguments: argparse.Namespace,
) -> dict[str, list[Pair]]:
    """Return what each round has found of each server, and of the one without rules beside it."""
    options = ("pubs=1", "subs=1", f"seconds={arguments.seconds}", f"subjects={arguments.subjects}")
    pairs: dict[str, list[Pair]] = {name: [] for name in servers}
    for turn in range(arguments.rounds):
        for at, (name, server) in enumerate(servers.items()):
            order = (plain, server) if (turn + at) % 2 else (server, plain)
            found = {it: run_loadgen(loadgen, "core", [it], *options) for it in order}
            pairs[name].append((found[plain], found[server]))
    return pairs


def show_plane(count: int) -> None:
    """Print what a message costs the plane more where one of so many rules taps it."""
    row = policies.Row("", policies.taps(count, "x%d.*", matching=1), KEPT)
    for subjects in policies.SUBJECTS:
        plain_ns, tapped_ns, _, _ = policies.measure(row, subjects, PLANE_ROUNDS)
        name = f"{count:,} rules, {subjects:,} subjects, processor time of a tapped message"
        print(asked(name, (tapped_ns - plain_ns) / 1000, PLANE_US, " us", at_most=True))


def show(name: str, server: ServerProcess, pairs: list[Pair]) -> None:
    """Print what became of the rate, and what was recorded."""
    low, kept, high = ratios(pairs, "receive_rate")
    rate = statistics.median(ruled["receive_rate"] for _, ruled in pairs)
    plain_us, ruled_us = (
        statistics.median(it["server_cpu_s_per_million"] for it in turns)
        for turns in zip(*pairs, strict=True)
    )
    line = f"{name:26} {rate:12,.0f} messages/s, kept {low:.2f} {kept:.2f} {high:.2f};"
    line += f" processor time {ruled_us:.3f} us a message, {plain_us:.3f} without"
    rule = server.document("/tapz")["rules"][-1]
    if "other" not in name:
        total = sum(ruled["published"] for _, ruled in pairs)
        line += f"; recorded {rule['messages'] / total:.2f}, dropped {rule['dropped'] / total:.2f}:"
        line += f" {rule['why_dropped'] or rule['problem']}"
    print(line)
    limit = KEPT_BESIDE if "other" in name else KEPT
    print(asked(f"{name}, kept", kept, limit), flush=True)


def ratios(pairs: list[Pair], figure: str) -> tuple[float, float, float]:
    """Return the quartiles of what is left of a figure where there are rules."""
    low, middle, high = statistics.quantiles(
        [ruled[figure] / plain[figure] for plain, ruled in pairs], n=4
    )
    return low, middle, high


if __name__ == "__main__":
    main()
