"""Elections while three servers are busy: `python -m bench.elections --seconds 3600`.

A stream of three replicas is published to, 500 messages on their way; other streams and consumers
are beside it, which have groups of their own. Counted is how often the term of a group rose: of the
meta group, of the streams' and of the consumers'. Shown too are the files of the logs, which must
not grow with time.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bench.asked import asked
from bench.contest import Contestant
from bench.jetstream_cluster import ClusterBench
from bench.loadgen import build_loadgen
from framework.testing import OURS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework.testing import ServerProcess

BESIDE: Final = 4
"""Streams that nobody publishes to, with two consumers each."""
KEPT_BYTES: Final = 256 << 20
LOOK_EVERY_S: Final = 10.0
TELL_EVERY_S: Final = 300.0


def main() -> None:
    """Publish for so long, and count meanwhile."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = ClusterBench(build_loadgen(Path(folder)), arguments.seconds, 1.0)
        with bench.server(Contestant(OURS)) as (_, api):
            for at in range(BESIDE):
                api.add_stream(f"IDLE{at}", f"idle{at}")
                for name in ("A", "B"):
                    api.add_consumer(f"IDLE{at}", name, ack_policy="explicit")
            api.add_stream("S", "bench", max_bytes=KEPT_BYTES)
            watch = Watch(bench.servers)
            thread = threading.Thread(target=watch.run)
            thread.start()
            try:
                document = bench.load(bench.servers["n0"])
            finally:
                watch.is_over.set()
                thread.join()
    print(f"{document['published']:,.0f} messages stored, {document['publish_rate']:,.0f} a second")
    print(asked(f"elections in {arguments.seconds:,.0f} s", watch.elections(), 0, at_most=True))


class Watch:
    """Looks again and again at the terms of all groups, and at what the servers' files take."""

    def __init__(self, servers: Mapping[str, ServerProcess]) -> None:
        self.is_over = threading.Event()
        self._servers = servers
        self._folders = {
            name: Path(server.document("/jsz")["config"]["store_dir"])
            for name, server in servers.items()
        }
        self._first = self._terms()
        self._last = dict(self._first)

    def run(self) -> None:
        """Look until it is over."""
        begin_s = told_s = time.perf_counter()
        while not self.is_over.wait(LOOK_EVERY_S):
            terms = self._terms()
            now_s = time.perf_counter()
            risen = [name for name, term in terms.items() if term != self._last.get(name, term)]
            if risen or now_s > told_s + TELL_EVERY_S:
                told_s = now_s
                self._tell(now_s - begin_s, risen)
            self._last |= terms
        self._last |= self._terms()

    def elections(self) -> int:
        """Return how often a group elected since the first look."""
        return sum(self._last[name] - term for name, term in self._first.items())

    def _terms(self) -> dict[str, int]:
        terms: dict[str, int] = {}
        for server in self._servers.values():
            for account in ("", "?acc=$G"):
                for groups in server.document(f"/raftz{account}").values():
                    for name, group in groups.items():
                        terms[name] = max(terms.get(name, 0), group["term"])
        return terms

    def _tell(self, after_s: float, risen: list[str]) -> None:
        files = [
            (name, sum(it.stat().st_size for it in folder.rglob("*") if it.is_file()))
            for name, folder in self._folders.items()
        ]
        sizes = " ".join(f"{name} {size / 2**20:,.0f} MiB" for name, size in files)
        said = f"elected: {' '.join(risen)}; " if risen else ""
        print(f"after {after_s:,.0f} s: {said}{len(self._last)} groups, {sizes}", flush=True)


if __name__ == "__main__":
    main()
