"""Messages from a hub to a leaf node: ours beside nats-server, same topology.

    python -m bench.leafnodes [--rounds 5] [--only "1 KiB"]
    python -m bench.leafnodes --told 10000
    python -m bench.leafnodes --many 1000

As `bench.routes`: publishers at the hub, subscribers at its leaf node. With `--told`, so many
subscriptions of one client at the leaf node are there before it can reach its hub: timed is from
its connection, which a thread of this process passes on, until the hub knows the last one. With
`--many`, so many leaf nodes of a cluster each connect to one hub, with ten subscriptions: its
memory before, its growth for each, its CPU time. They are sockets of this process that speak the
protocol.
"""

from __future__ import annotations

import argparse
import json
import socket
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from bench.clusters import cpu_s, hub_config, leaf_config, rss_bytes, start_leafnodes
from bench.contest import add_contestants, contest
from bench.interest import Watch, subject
from bench.routes import run
from bench.slow_link import SlowLink
from framework.testing import Fleet, free_port

if TYPE_CHECKING:
    from bench.contest import Contestant

FIGURES = ("told_s", "told_cpu_s")
MANY_FIGURES = ("before_mib", "kib_per_leaf", "cpu_s", "connect_s")
_MIB = 1 << 20


def measure(count: int, contestant: Contestant) -> list[float]:
    """Let a leaf node with subscriptions connect to its hub; return the figures of one run."""
    with tempfile.TemporaryDirectory() as folder:
        fleet = Fleet(Path(folder))
        port, reached = free_port(), free_port()
        try:
            hub = fleet.start(kind=contestant.kind, config=hub_config(contestant, port))
            leaf = fleet.start(kind=contestant.kind, config=leaf_config(reached))
            watch = Watch(hub, subject(count - 1))
            with leaf.client() as client:
                client.log_in()
                client.send(
                    b"".join(
                        b"SUB %b %d\r\n" % (subject(at).encode(), at + 1) for at in range(count)
                    )
                )
                client.flush()
                before_s = cpu_s([leaf, hub])
                with SlowLink(port, 0.0, reached) as link:
                    watch.await_known(known=True)
                    took_s = time.perf_counter() - link.first_s
                    used_s = cpu_s([leaf, hub]) - before_s
            watch.close()
        finally:
            fleet.stop()
    return [took_s, used_s]


def join(port: int, number: int) -> socket.socket:
    """Connect to a hub as a leaf node, and return the connection when it is registered."""
    sock = socket.create_connection(("127.0.0.1", port), 20.0)
    with sock.makefile("rb") as lines:
        lines.readline()
        connect = {
            "version": "2.15.2",
            "server_id": f"L{number}",
            "name": f"leaf{number}",
            "cluster": f"c{number}",
            "headers": True,
            "protocol": 1,
            "remote_account": "$G",
        }
        told = b"".join(b"LS+ leaf.%d.%d\r\n" % (number, at) for at in range(10))
        sock.sendall(b"CONNECT %b\r\n" % json.dumps(connect).encode())
        _await(lines, b'"connect_info"')
        sock.sendall(b"LS+ $LDS.%d\r\n%bPING\r\n" % (number, told))
        _await(lines, b"PONG")
    return sock


def _await(lines: BinaryIO, part: bytes) -> None:
    """Read up to the line that has some words."""
    while part not in (line := lines.readline()):
        if not line or line.startswith(b"-ERR"):
            raise ConnectionError(f"no {part!r}: {line!r}")


def measure_many(count: int, contestant: Contestant) -> list[float]:
    """Let so many leaf nodes connect to a hub; return the figures of one run."""
    with tempfile.TemporaryDirectory() as folder:
        fleet = Fleet(Path(folder))
        port = free_port()
        socks: list[socket.socket] = []
        try:
            hub = fleet.start(kind=contestant.kind, config=hub_config(contestant, port))
            before, before_s, begin_s = rss_bytes([hub]), cpu_s([hub]), time.perf_counter()
            socks += (join(port, number) for number in range(count))
            took_s = time.perf_counter() - begin_s
            watch = Watch(hub, f"leaf.{count - 1}.9")
            watch.await_known(known=True)
            watch.close()
            used_s, after = cpu_s([hub]) - before_s, rss_bytes([hub])
        finally:
            for sock in socks:
                sock.close()
            fleet.stop()
    return [before / _MIB, (after - before) / 1024 / count, used_s, took_s]


def main() -> None:
    """Read the command line and run."""
    if not {"--told", "--many"} & set(sys.argv):
        run(__doc__, start_leafnodes)
        return
    parser = argparse.ArgumentParser(description=__doc__)
    add_contestants(parser)
    parser.add_argument("--told", type=int, default=0, help="subscriptions")
    parser.add_argument("--many", type=int, default=0, help="leaf nodes")
    options = parser.parse_args()
    if options.told:
        title = f"{options.told:,} subscriptions told at connect"
        contest(title, options, FIGURES, partial(measure, options.told))
    if options.many:
        once = partial(measure_many, options.many)
        contest(f"{options.many:,} leaf nodes", options, MANY_FIGURES, once)


if __name__ == "__main__":
    main()
