"""How fast subscriptions reach the other servers of a cluster, and how fast they go again.

    python -m bench.interest [--rounds 5] [--count 100000] [--servers 3] [--gateways]

One client of the first server subscribes to that many subjects of their own, then unsubscribes.
Timed is from its first byte until every other server knows the last one: what one client says
goes to another server in its order. A server knows a subject when a request to it is not answered
with 503. CPU time is that of all servers, memory that of the largest when all is known.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bench.clusters import cpu_s, rss_bytes, start_cluster, start_supercluster
from bench.contest import add_contestants, contest
from framework.testing import Fleet, RawClient

if TYPE_CHECKING:
    from bench.contest import Contestant
    from bench.routes import Start
    from framework.testing import ServerProcess

TIMEOUT_S = 600.0
"""A busy server reads a million subscriptions for longer than tests wait."""
FIGURES = ("coming_s", "coming_cpu_s", "rss_mib", "going_s", "going_cpu_s")
LOOK_EVERY_S = 0.002
_INBOX = "_INBOX.bench"
_MIB = 1 << 20


def subject(index: int) -> str:
    """Return a subject as applications have them."""
    return f"orders.customer-{index}.created"


class Watch:
    """A client that asks one server whether it knows a subject."""

    def __init__(self, server: ServerProcess, name: str) -> None:
        self._client = server.client()
        self._client.log_in(headers=True, no_responders=True)
        self._client.send(f"SUB {_INBOX} 1\r\n".encode())
        self._client.flush()
        self._request = f"PUB {name} {_INBOX} 0\r\n\r\n".encode()

    def await_known(self, *, known: bool) -> None:
        """Return when the subject is known, or when it is not."""
        while self._is_known() != known:
            time.sleep(LOOK_EVERY_S)

    def _is_known(self) -> bool:
        self._client.send(self._request)
        return not any(it.verb == b"HMSG" for it in self._client.flush())

    def close(self) -> None:
        """End the connection."""
        self._client.close()


def timed(client: RawClient, lines: bytes, watches: list[Watch], *, known: bool) -> float:
    """Send lines, and return after how many seconds all have seen what they bring about."""
    begin_s = time.perf_counter()
    sender = threading.Thread(target=client.send, args=(lines,))
    sender.start()
    for watch in watches:
        watch.await_known(known=known)
    took_s = time.perf_counter() - begin_s
    sender.join()
    client.flush()
    return took_s


def measure(servers_count: int, count: int, start: Start, contestant: Contestant) -> list[float]:
    """Start servers and return the figures of one run."""
    with tempfile.TemporaryDirectory() as folder:
        fleet = Fleet(Path(folder))
        try:
            servers = start(fleet, contestant, servers_count)
            watches = [Watch(server, subject(count - 1)) for server in servers[1:]]
            figures = []
            with RawClient(servers[0].port, timeout_s=TIMEOUT_S) as client:
                client.log_in()
                for known, line in ((True, "SUB {0} {1}\r\n"), (False, "UNSUB {1}\r\n")):
                    text = "".join(line.format(subject(at), at + 1) for at in range(count))
                    before_s = cpu_s(servers)
                    took_s = timed(client, text.encode(), watches, known=known)
                    figures += [took_s, cpu_s(servers) - before_s]
                    if known:
                        figures.append(rss_bytes(servers) / _MIB)
            for watch in watches:
                watch.close()
        finally:
            fleet.stop()
    return figures


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_contestants(parser)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--servers", type=int, default=3)
    parser.add_argument("--gateways", action="store_true", help="each is a cluster of its own")
    options = parser.parse_args()
    start = start_supercluster if options.gateways else start_cluster
    what = "clusters" if options.gateways else "servers"
    title = f"{options.count:,} subscriptions, {options.servers} {what}"
    contest(title, options, FIGURES, partial(measure, options.servers, options.count, start))


if __name__ == "__main__":
    main()
