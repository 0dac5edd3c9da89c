"""What taps, gates and quotas cost a publisher: `python -m bench.policies`.

The plane alone, without sockets: what is added is the same with them, and the whole is more. Two
cores, one with the policy and one without, publish in turn, and each turn's two times are compared,
so that what else the machine does is in both. Of the ratios of a row the first quartile is shown
beside the median: a rate that is kept in three of four turns.

`--sockets` adds whole servers, driven by the load generator: messages a second, CPU time of all
threads, and what of the rate would be kept if that was all.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from bench.loadgen import build_loadgen, run_loadgen
from framework.dataplane import Core, LinkKind, PlaneLimits, TapKind
from framework.testing import Fleet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from framework.dataplane import GateQueue

PAYLOAD_BYTES: Final = 128
MESSAGES: Final = 40_000
"""Of one time that is taken."""
READ_MESSAGES: Final = 200
"""About what one read of a busy publisher brings."""
TURNS: Final = 6
"""Of each pair of cores; the first is not counted."""
SUBJECTS: Final = (1, 1_000)
RULES: Final = (1, 100, 10_000)
EXAMPLE: Final = Path(__file__).parent.parent / "examples" / "plugin-gate-c"
IN_PYTHON: Final = {
    "a gate in Python": """
@hookimpl
def framework_gates(server):
    yield GateSpec(name="bench", subject=">", decide=lambda batch: [PASS] * len(batch))
""",
    "a gate elsewhere": """
@hookimpl
def framework_gates(server):
    yield GateSpec(name="bench", subject="elsewhere.>", decide=lambda batch: [PASS] * len(batch))
""",
    "an ingress tap": """
@hookimpl
def framework_taps(server):
    yield TapSpec(name="bench", subject=">", kind=TapKind.INGRESS, receive=lambda batch: None)
""",
    "a quota": """
@hookimpl
def framework_quotas(server, client):
    yield Quota(name="bench", messages=1e12, bytes=1e15)
""",
}
"""Plugins of whole servers; what they begin with is the same."""
WORKLOADS: Final = {
    "1 to 1": ("pubs=1", "subjects=shared"),
    "4 to 1": ("pubs=4", "subjects=shared"),
    "1 to 1, 1,000 subjects": ("pubs=1", "subjects=wild", "wild=1000"),
}


class Side:
    """A core with one client that publishes to one that listens, and what decides or watches."""

    def __init__(self, subjects: int) -> None:
        self.core = Core(PlaneLimits(), seed=1)
        self.queues: list[GateQueue] = []
        self._listener = self._client()
        self.core.feed(self._listener, b"SUB orders.> 1\r\n", 1)
        self.link = self._client()
        lines = [
            b"PUB orders.customer-%d.created %d\r\n%b\r\n" % (at, PAYLOAD_BYTES, b"x" * 128)
            for at in range(subjects)
        ]
        turns = max(subjects // READ_MESSAGES, 1)
        self._reads = [
            b"".join(lines[(turn * READ_MESSAGES + at) % subjects] for at in range(READ_MESSAGES))
            for turn in range(turns)
        ]

    def _client(self) -> int:
        link = self.core.open(LinkKind.CLIENT, "127.0.0.1", 1, accepted=True)
        self.core.resume_client(
            link,
            verbose=False,
            pedantic=False,
            echo=True,
            headers=True,
            no_responders=True,
            protocol=1,
        )
        self.core.turn(1)
        self.core.take_events()
        return link

    def ns_per_message(self) -> float:
        """Publish MESSAGES, let gates pass all, and return what one took the plane."""
        core = self.core
        spent_ns = 0
        for at in range(MESSAGES // READ_MESSAGES):
            before_ns = time.thread_time_ns()
            core.feed(self.link, self._reads[at % len(self._reads)], 1)
            spent_ns += time.thread_time_ns() - before_ns
            for queue in self.queues:
                while (taken := queue.take()) is not None:
                    core.answer_gate(queue.id, taken[0], b"")
                    del taken
            before_ns = time.thread_time_ns()
            core.turn(1)
            spent_ns += time.thread_time_ns() - before_ns
            core.take_output(self._listener)
            core.take_events()
        return spent_ns / MESSAGES


class Row(Struct, frozen=True):
    """A policy, and the rate that has to be kept beside it."""

    name: str
    add: Callable[[Side], object]
    wanted: float


def taps(count: int, subject: str, *, matching: int) -> Callable[[Side], object]:
    """Return what adds ingress taps: so many that match, others beside them."""

    def add(side: Side) -> None:
        for at in range(count):
            rule = b"orders.>" if at < matching else subject.encode() % at
            side.core.subscribe_sink(0, rule, kind=TapKind.INGRESS)
        side.core.turn(1)

    return add


def gates(count: int, subject: str) -> Callable[[Side], object]:
    """Return what adds gates; they pass all."""

    def add(side: Side) -> None:
        for at in range(count):
            rule = subject.encode() % at if "%" in subject else subject.encode()
            side.queues.append(side.core.add_gate(0, rule, order=at))
        side.core.turn(1)

    return add


def quotas(*subjects: bytes) -> Callable[[Side], object]:
    """Return what puts the publisher under quotas that have room."""

    def add(side: Side) -> None:
        made = [
            side.core.add_quota(
                subject=it,
                messages_per_s=1e15,
                bytes_per_s=1e18,
                burst_messages=1e15,
                burst_bytes=1e18,
            )
            for it in subjects
        ]
        side.core.give_quotas([(side.link, made)])
        side.core.turn(1)

    return add


ROWS: Final = (
    *(Row(f"{n:,} ingress taps, one matches", taps(n, "x%d.*", matching=1), 0.90) for n in RULES),
    *(Row(f"{n:,} ingress taps on others", taps(n, "x%d.*", matching=0), 0.99) for n in RULES),
    Row("a gate on another subject", gates(1, "other.>"), 0.99),
    Row("100 gates on others", gates(100, "x%d.*"), 0.99),
    Row("quotas: one", quotas(b""), 0.98),
    Row("quotas: two, one on another subject", quotas(b"", b"other.>"), 0.98),
    Row("a gate that passes all", gates(1, ">"), 0.0),
)


def pairs_of(row: Row | None, subjects: int, *, plain_first: bool) -> Iterator[tuple[float, float]]:
    """Yield what a message took without and with a policy, some times in turn."""
    plain, other = Side(subjects), Side(subjects)
    if row is not None:
        row.add(other)
    order = (plain, other) if plain_first else (other, plain)
    for turn in range(TURNS):
        spent = {side: side.ns_per_message() for side in order}
        if turn:
            yield spent[plain], spent[other]


def measure(row: Row | None, subjects: int, rounds: int) -> tuple[float, float, float, float]:
    """Return nanoseconds without and with a policy, and the rate: first quartile and median."""
    # Where a core's memory lies makes a difference, too: each pair is made anew.
    pairs = [
        pair
        for made in range(rounds)
        for pair in pairs_of(row, subjects, plain_first=made % 2 == 0)
    ]
    low, middle, _ = statistics.quantiles([one / other for one, other in pairs], n=4)
    plain, other = (statistics.median(side) for side in zip(*pairs, strict=True))
    return plain, other, low, middle


def servers_with(folder: Path) -> Iterator[tuple[str, Sequence[str], str | None]]:
    """Yield whole servers: what they have, their flags and configuration."""
    yield "nothing", (), None
    for at, (name, text) in enumerate(IN_PYTHON.items()):
        plugin = folder / f"bench{at}.py"
        plugin.write_text("from framework import hookimpl\nfrom framework.spec import *\n" + text)
        yield name, ("--plugin", str(plugin)), None
    site = folder / "plugins"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
    options = ["--no-build-isolation", "--target", str(site), str(EXAMPLE)]
    subprocess.run([*command, *options], check=True)
    plugin = folder / "utf8.py"
    hooks = "framework_config_sections, framework_gates, framework_ports"
    plugin.write_text(
        f"import sys\nsys.path.insert(0, {str(site)!r})\n"
        f"from framework_gate_utf8.plugin import {hooks}\n"
    )
    yield "a gate in C", ("--plugin", str(plugin)), "utf8 { subject: '>' }"


def measure_servers(rounds: int) -> None:
    """Print what publishers reach through whole servers, and the CPU time of these."""
    print(
        f"\n{'server':18} {'workload':24} {'messages/s':>11} {'best':>11} {'CPU us':>7} {'rate':>6}"
    )
    with tempfile.TemporaryDirectory() as name:
        loadgen = build_loadgen(Path(name))
        servers = list(servers_with(Path(name)))
        for workload, words in WORKLOADS.items():
            found: dict[str, list[dict[str, float]]] = {it: [] for it, _, _ in servers}
            for _ in range(rounds):
                for server, flags, config in servers:
                    found[server].append(_run(loadgen, flags, config, words))
            plain = [it["server_cpu_s_per_million"] for it in found["nothing"]]
            for server, runs in found.items():
                rates = [it["receive_rate"] for it in runs]
                costs = [it["server_cpu_s_per_million"] for it in runs]
                kept = statistics.median(
                    one / other for one, other in zip(plain, costs, strict=True)
                )
                line = f"{server:18} {workload:24} {statistics.median(rates):>11,.0f}"
                cost = statistics.median(costs)
                print(f"{line} {max(rates):>11,.0f} {cost:>7.3f} {kept:>6.3f}", flush=True)


def _run(
    loadgen: Path, flags: Sequence[str], config: str | None, words: Sequence[str]
) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        fleet = Fleet(Path(folder))
        try:
            server = fleet.start(*flags, config=config)
            return run_loadgen(loadgen, "core", [server], "seconds=2", "subs=1", "size=128", *words)
        finally:
            fleet.stop()


def main() -> None:
    """Print what each policy costs, and how the rates compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=8, help="pairs of cores; %(default)s")
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--sockets", action="store_true", help="whole servers as well")
    options = parser.parse_args()
    title = f"{'policy':38} {'subjects':>8} {'plain ns':>9} {'ns':>7} {'quartile':>8} {'median':>7}"
    print(f"{title} {'wanted':>6}")
    rows = [Row("nothing", lambda _: None, 1.0), *ROWS]
    for row in rows:
        if options.only not in row.name:
            continue
        for subjects in SUBJECTS:
            plain, other, low, middle = measure(row, subjects, options.rounds)
            line = f"{row.name:38} {subjects:>8} {plain:>9.1f} {other:>7.1f} {low:>8.3f}"
            print(f"{line} {middle:>7.3f} {row.wanted:>6.2f}", flush=True)
    if options.sockets:
        measure_servers(max(options.rounds // 2, 1))


if __name__ == "__main__":
    main()
