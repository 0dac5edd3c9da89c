"""Compressed routes: messages a second and bytes on the wire, on a fast link and on a slow one.

    python -m bench.compression [--rounds 5]
    python -m bench.compression --slow 25 --server "ours compression: zstd" --server ...

`--slow` is what the link carries, in MB a second.

JSON of exactly one size goes from a publisher on one server to a subscriber on the other, whose
route passes a proxy that counts bytes. The publisher is never more than a window ahead, so that a
slow link makes it wait and nobody is cut off. CPU time is that of both servers.
"""

from __future__ import annotations

import argparse
import tempfile
from functools import partial
from pathlib import Path

from bench.clusters import config
from bench.contest import Contestant, add_contestants, contest
from bench.documents import KINDS
from bench.loadgen import build_loadgen, run_loadgen
from bench.slow_link import SlowLink
from framework.testing import OURS, Fleet, free_port
from framework.testing.fleet import await_mesh

SIZES = (256, 1024)
CORPUS_BYTES = 24 * 2**20
"""More than any coder remembers, so that none finds a message again."""
WINDOW_BYTES = 4 * 2**20
CONTESTANTS = (
    Contestant(OURS, "compression: zstd"),
    Contestant(OURS, "compression: zstd_better"),
    Contestant(OURS, "compression: s2_fast"),
    Contestant("2.15.2", "compression: s2_fast"),
    Contestant(OURS, "compression: off"),
)
FIGURES = ("publish_rate", "wire_bytes_per_message", "server_cpu_s_per_million")


def measure(
    loadgen: Path,
    folder: Path,
    size_bytes: int,
    options: argparse.Namespace,
    contestant: Contestant,
) -> list[float]:
    """Start two servers with a link between them, and return the figures of one run."""
    fleet = Fleet(folder)
    try:
        text = config(contestant, -1, free_port())
        first = fleet.start(kind=contestant.kind, config=text, clustered=True)
        with SlowLink(first.cluster_port, options.slow * 1e6) as link:
            text = config(contestant, -1, free_port(), [link.port])
            second = fleet.start(kind=contestant.kind, config=text, clustered=True)
            await_mesh(first, second)
            before = link.total_bytes
            words = (
                *(f"size={size_bytes}", f"payloads={folder / str(size_bytes)}"),
                *(f"window={WINDOW_BYTES // size_bytes}", f"seconds={options.seconds}"),
            )
            document = run_loadgen(loadgen, "core", [first, second], *words)
            wire_bytes = link.total_bytes - before
    finally:
        fleet.stop()
    rate, cpu_s = document["publish_rate"], document["server_cpu_s_per_million"]
    return [rate, wire_bytes / document["published"], cpu_s]


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_contestants(parser)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each run")
    parser.add_argument("--json", choices=KINDS, default="orders", help="what the messages say")
    parser.add_argument("--slow", type=float, default=0.0, help="MB a second; 0: no limit")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        loadgen = build_loadgen(folder)
        for size in SIZES:
            corpus = KINDS[options.json](CORPUS_BYTES // size, size)
            (folder / str(size)).write_bytes(b"".join(corpus))
            once = partial(measure, loadgen, folder, size, options)
            contest(f"{size} B of JSON, {options.json}", options, FIGURES, once, CONTESTANTS)


if __name__ == "__main__":
    main()
