"""How long a stream of one server takes until two others have it too.

    python -m tests.torture.growing --mb 200

It is published to one server, gets three replicas, and is read once who leads it is dead.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from framework.testing.fleet import OURS
from tests.torture.cluster import TorturedCluster
from tests.torture.waiting import until

PAYLOAD_BYTES = 64_000
WAIT_S = 600.0


def grow(cluster: TorturedCluster, count: int) -> float:
    """Return for how many seconds it took until all had so many messages."""
    stream, payload = cluster.stream, bytes(PAYLOAD_BYTES)
    stream.create(1)
    for _ in range(count):
        until("it is stored", lambda: "seq" in cluster.asker.ask("t.x", payload))
    began = time.perf_counter()
    stream.scale(3)
    until("all have it", stream.is_current, WAIT_S)
    took = time.perf_counter() - began
    cluster.servers[stream.leader()].kill()
    until("another leads", lambda: (stream.info().get("state") or {}).get("messages") == count)
    return took


def main() -> int:
    """Grow a stream, and print how long it took."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mb", type=int, default=200)
    parser.add_argument("--kind", default=OURS, help="ours, or a version")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        cluster = TorturedCluster(options.kind, Path(folder))
        try:
            took = grow(cluster, options.mb * 1_000_000 // PAYLOAD_BYTES)
        finally:
            cluster.stop()
    print(f"{options.kind}: {options.mb} MB at three servers after {took:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
