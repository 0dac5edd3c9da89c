"""How fast a replica that lost its disk is whole again, while publishers go on.

    python -m bench.catching_up [--mb 1000] [--rounds 1]

Three servers; a stream of three replicas has so much of what can't be compressed. One that does not
lead it is stopped, its files go, and it is started again. `rate_mb_s` is how fast it gets what the
stream had, `kept` the rate of a publisher meanwhile, to that of the same before.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bench.asked import asked
from bench.contest import add_contestants, contest
from bench.jetstream_cluster import LOOK_EVERY_S, ClusterBench
from bench.loadgen import build_loadgen

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bench.contest import Contestant
    from framework.testing import ServerProcess

PAYLOAD_BYTES: Final = 1024
CORPUS: Final = 1 << 14
"""Messages that differ."""
WHOLE_S: Final = 300.0
"""Until a replica has all of it."""
FIGURES: Final = ("rate_mb_s", "kept")


def messages_of(server: ServerProcess) -> int:
    """Return how many messages of the stream a server has itself."""
    accounts = server.document("/jsz?accounts=true&streams=true").get("account_details", [])
    streams = [it for account in accounts for it in account.get("stream_detail", [])]
    return sum(it["state"]["messages"] for it in streams if it["name"] == "S")


def until_whole(server: ServerProcess, count: int) -> float:
    """Return how long it took until a server had so many messages."""
    begin_s = time.perf_counter()
    while messages_of(server) < count:
        if time.perf_counter() > begin_s + WHOLE_S:
            raise SystemExit(f"a replica is not whole after {WHOLE_S:.0f} s")
        time.sleep(LOOK_EVERY_S)
    return time.perf_counter() - begin_s


def catch_up(bench: ClusterBench, contestant: Contestant, count: int, payloads: str) -> list[float]:
    """Let a replica catch up with so many messages."""
    load = {"size": PAYLOAD_BYTES, "payloads": payloads}
    with bench.server(contestant) as (_, api):
        api.add_stream("S", "bench")
        bench.load(bench.servers["n0"], count=count, **load)
        before = bench.load(bench.servers["n0"], **load)
        stored = api.messages("S")
        name = next(it for it in ("n1", "n2") if it != bench.leader())
        behind = bench.servers[name]
        folder = Path(behind.document("/jsz")["config"]["store_dir"])
        until_whole(behind, stored)
        behind.stop()
        shutil.rmtree(folder)
        behind = bench.servers[name] = behind.copy(f"{name}-again", behind.command)
        behind.start(clustered=True)
        meanwhile: list[Mapping[str, float]] = []
        publisher = threading.Thread(
            target=lambda: meanwhile.append(bench.load(bench.servers["n0"], **load))
        )
        publisher.start()
        try:
            took_s = until_whole(behind, stored)
        finally:
            publisher.join()
            behind.stop()
    rate = stored * PAYLOAD_BYTES / 1e6 / took_s
    return [rate, meanwhile[0]["publish_rate"] / before["publish_rate"]]


def report(found: Mapping[Contestant, Sequence[Sequence[float]]]) -> None:
    """Print what is asked of ours, beside what it was."""
    rounds = list(found.values())
    ours, *others = (statistics.median(rate for rate, _ in it) for it in rounds)
    if others:
        print(asked("rate_mb_s to the better one's", ours / max(others), 1.0))
    print(asked("kept", statistics.median(kept for _, kept in rounds[0]), 0.7))


def main() -> None:
    """Measure three servers of each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_contestants(parser)
    parser.set_defaults(rounds=1)
    parser.add_argument("--mb", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each publisher")
    options = parser.parse_args()
    count = options.mb * 1_000_000 // PAYLOAD_BYTES
    with tempfile.TemporaryDirectory() as folder:
        noise = Path(folder, "noise")
        noise.write_bytes(random.Random(1).randbytes(CORPUS * PAYLOAD_BYTES))
        bench = ClusterBench(build_loadgen(Path(folder)), options.seconds, 1.0)
        found = contest(
            f"{options.mb} MB to an empty replica",
            options,
            FIGURES,
            lambda it: catch_up(bench, it, count, str(noise)),
        )
    report(found)


if __name__ == "__main__":
    main()
