"""Messages from one server of a cluster to another: ours beside nats-server, same topology.

    python -m bench.routes [--rounds 5] [--only "1 KiB"]
    python -m bench.routes --server "ours compression: s2_fast" --server "2.15.2 pool_size: -1"

Publishers are on the first server, subscribers on the second. Rates and round trips are as the
load generator counts them, CPU time is that of both servers. A ratio is the first contestant to
another one, the median of the rounds, in each of which all take turns.
"""

from __future__ import annotations

import argparse
import tempfile
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bench.clusters import start_cluster
from bench.contest import add_contestants, contest
from bench.loadgen import build_loadgen, run_loadgen
from framework.testing import Fleet, TcpProxy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Protocol

    from bench.contest import Contestant
    from framework.testing import ServerProcess

    class Start(Protocol):
        """Starts servers: `bench.clusters.start_cluster`, and what is like it."""

        def __call__(
            self,
            fleet: Fleet,
            contestant: Contestant,
            count: int,
            *,
            more: str = "",
            wire: Callable[[int], int] = int,
        ) -> Sequence[ServerProcess]:
            """Return so many servers that know each other."""


ACCOUNTS = 10
FAR_S = 0.04
"""One way, so 80 ms there and back."""


class Case(NamedTuple):
    """What the load generator does."""

    mode: str
    options: tuple[str, ...]
    figures: tuple[str, ...] = ("publish_rate", "server_cpu_s_per_million")
    """Of its document."""
    config: str = ""
    """Of the servers, beside what connects them."""
    delay_s: float = 0.0
    """How long bytes are under way between them."""


CASES = {
    "16 B": Case("core", ("size=16",)),
    "128 B": Case("core", ("size=128",)),
    "1 KiB": Case("core", ("size=1024",)),
    "16 KiB": Case("core", ("size=16384",)),
    "1,000 subjects, 128 B": Case("core", ("subjects=wild", "wild=1000", "size=128")),
    "1 to 4, 128 B": Case("core", ("subs=4", "size=128")),
    "queue group of 4, 128 B": Case("core", ("subjects=shared", "subs=4", "queue=1", "size=128")),
    "4 pairs, 128 B": Case("core", ("pubs=4", "subs=4", "size=128")),
    "100,000/s, 128 B": Case("core", ("size=128", "rate=100000")),
    f"1 to 1 in each of {ACCOUNTS} accounts, 128 B": Case(
        "core",
        (f"accounts={ACCOUNTS}", "pass=s3cret", f"pubs={ACCOUNTS}", f"subs={ACCOUNTS}"),
        config="accounts {"
        + "".join(
            f"\n A{it} {{ users: [{{ user: user{it}, password: s3cret }}] }}"
            for it in range(ACCOUNTS)
        )
        + "\n}",
    ),
    "request and reply, 16 B": Case("rtt", ("size=16", "count=5000"), ("p50_us", "p99_us")),
    f"request and reply, 16 B, {2000 * FAR_S:g} ms away": Case(
        "rtt", ("size=16", "count=50"), ("p50_us", "p99_us"), delay_s=FAR_S
    ),
}


def measure(
    loadgen: Path, case: Case, seconds: float, start: Start, contestant: Contestant
) -> list[float]:
    """Start two servers, and return the figures of one run between them."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:

        def wire(port: int) -> int:
            if not case.delay_s:
                return port
            return stack.enter_context(TcpProxy(port, delay_s=case.delay_s)).port

        fleet = Fleet(Path(folder))
        stack.callback(fleet.stop)
        servers = start(fleet, contestant, 2, more=case.config, wire=wire)
        options = (*case.options, f"seconds={seconds}")
        document = run_loadgen(loadgen, case.mode, servers, *options)
    return [document[figure] for figure in case.figures]


def main() -> None:
    """Read the command line and run."""
    run(__doc__, start_cluster)


def run(description: str | None, start: Start) -> None:
    """Read the command line, and run all cases between servers that `start` starts."""
    parser = argparse.ArgumentParser(description=description)
    add_contestants(parser)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each run")
    parser.add_argument("--only", default="", help="case of this name, or those that contain it")
    options = parser.parse_args()
    chosen = [options.only] if options.only in CASES else [it for it in CASES if options.only in it]
    with tempfile.TemporaryDirectory() as folder:
        loadgen = build_loadgen(Path(folder))
        for name in chosen:
            case = CASES[name]
            once = partial(measure, loadgen, case, options.seconds, start)
            contest(name, options, case.figures, once)


if __name__ == "__main__":
    main()
