"""How long a stream of one server takes until two others have it too.

    python -m tests.torture.growing --mb 200

It is published to one server, gets three replicas, and is read once who leads it is dead.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from framework.testing.fleet import OURS
from tests.torture.cluster import STREAM, TorturedCluster, until

PAYLOAD_BYTES = 64_000
WAIT_S = 600.0


def config(replicas: int) -> bytes:
    """Return what the stream is to be."""
    wanted = {"name": STREAM, "subjects": ["t.>"], "num_replicas": replicas, "storage": "file"}
    return json.dumps(wanted).encode()


def has_grown(cluster: TorturedCluster) -> bool:
    """Whether all replicas vote, and have all of it."""
    shown: dict[str, Any] = cluster.info().get("cluster") or {"desired": {}}
    return "desired" not in shown and cluster.is_current()


def grow(cluster: TorturedCluster, count: int) -> float:
    """Return for how many seconds it took until all had so many messages."""
    ask, payload = cluster.asker.ask, bytes(PAYLOAD_BYTES)
    until("it is made", lambda: "config" in ask(f"$JS.API.STREAM.CREATE.{STREAM}", config(1)))
    for _ in range(count):
        until("it is stored", lambda: "seq" in ask("t.x", payload))
    began = time.perf_counter()
    ask(f"$JS.API.STREAM.UPDATE.{STREAM}", config(3))
    until("all have it", lambda: has_grown(cluster), WAIT_S)
    took = time.perf_counter() - began
    cluster.servers[cluster.leader()].kill()
    until("another leads", lambda: (cluster.info().get("state") or {}).get("messages") == count)
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
