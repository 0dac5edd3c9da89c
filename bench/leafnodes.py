"""Messages from a hub to a leaf node: ours beside nats-server, same topology.

    python -m bench.leafnodes [--rounds 5] [--only "1 KiB"]
    python -m bench.leafnodes --told 10000

As `bench.routes`: publishers at the hub, subscribers at its leaf node. With `--told`, so many
subscriptions of one client at the leaf node are there before the hub is: timed is from the start of
the hub's process until it knows the last one.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bench.clusters import cpu_s, hub_config, leaf_config, start_leafnodes
from bench.contest import add_contestants, contest
from bench.interest import Watch, subject
from bench.routes import run
from framework.testing import Fleet, free_port

if TYPE_CHECKING:
    from bench.contest import Contestant

FIGURES = ("told_s", "told_cpu_s")


def measure(count: int, contestant: Contestant) -> list[float]:
    """Start a leaf node with subscriptions, then its hub; return the figures of one run."""
    with tempfile.TemporaryDirectory() as folder:
        fleet = Fleet(Path(folder))
        port = free_port()
        try:
            leaf = fleet.start(kind=contestant.kind, config=leaf_config(port))
            with leaf.client() as client:
                client.log_in()
                client.send(
                    b"".join(
                        b"SUB %b %d\r\n" % (subject(at).encode(), at + 1) for at in range(count)
                    )
                )
                client.flush()
                before_s, begin_s = cpu_s([leaf]), time.perf_counter()
                hub = fleet.start(kind=contestant.kind, config=hub_config(contestant, port))
                watch = Watch(hub, subject(count - 1))
                watch.await_known(known=True)
                took_s = time.perf_counter() - begin_s
                used_s = cpu_s([leaf, hub]) - before_s
            watch.close()
        finally:
            fleet.stop()
    return [took_s, used_s]


def main() -> None:
    """Read the command line and run."""
    if "--told" not in sys.argv:
        run(__doc__, start_leafnodes)
        return
    parser = argparse.ArgumentParser(description=__doc__)
    add_contestants(parser)
    parser.add_argument("--told", type=int, default=10_000, help="subscriptions")
    options = parser.parse_args()
    title = f"{options.told:,} subscriptions told at connect"
    contest(title, options, FIGURES, partial(measure, options.told))


if __name__ == "__main__":
    main()
