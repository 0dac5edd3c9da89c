"""Streaming reads of Spark: rows a second, the least of a batch, and what a kill costs.

    ./dev python -m bench.spark_queries --rows 1000000 --rounds 5

Of a real server by consumers, and of one of ours by exports, in turns; medians.

- *streaming*: rows a second within batches of 250,000, the first of a query left out;
- *trigger*: how long a batch takes of a query that always has a few rows to read;
- *resume*: from the start of a process to the end of its first batch, where a checkpoint is that of
  a process that was killed in the middle of one, and where there is none.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pyspark_nats import local_session
from pyspark_nats.connection import Address, Connection, Target

from bench.asked import asked
from bench.spark import REAL, fill
from framework.testing import OURS, Fleet, peers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

    from framework.testing import ServerProcess

BATCH_ROWS: Final = 250_000
STREAMED_ROWS_S: Final = 400_000
TRIGGER_MS: Final = 200
RESUME_S: Final = 5
"""What is asked."""
TRIGGERS: Final = 40
"""Batches whose time is taken; the first ten are not counted."""
JOB: Final = """
import sys
from pyspark_nats import local_session
url, checkpoint, most = sys.argv[1:]
spark = local_session()
reader = spark.readStream.format("nats").options(
    servers=url, stream="BENCH", startingOffsets="earliest", maxOffsetsPerTrigger=most
)
query = reader.load().writeStream.format("noop").option("checkpointLocation", checkpoint).start()
done = 0
while True:
    progress = query.lastProgress
    if progress and progress["batchId"] >= done:
        done = progress["batchId"] + 1
        print(done, flush=True)
    query.awaitTermination(0.02)
"""


def main() -> None:
    """Fill a stream of each server, and measure in turns."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    peers.bring(REAL)
    with tempfile.TemporaryDirectory() as folder:
        fleet = Fleet(Path(folder))
        plugin = ("-plugin", "framework_jetstream.plugin")
        real = fleet.start(kind=REAL, config=f'jetstream {{ store_dir: "{folder}/js" }}')
        ours = fleet.start(*plugin, kind=OURS, config=f'jetstream {{ store_dir: "{folder}/ours" }}')
        servers = {f"{REAL}, consumers": real, "ours, exports": ours}
        try:
            for server in servers.values():
                fill(server.port, arguments.rows)
            measure(servers, Path(folder), arguments.rounds)
        finally:
            fleet.stop()
    print(f"load {os.getloadavg()[0]:.1f}")


def measure(servers: dict[str, ServerProcess], folder: Path, rounds: int) -> None:
    """Print what came out; the first round is not counted."""
    session = local_session()
    figures: dict[str, tuple[str, float, Callable[[ServerProcess], float]]] = {
        "streaming": ("rows/s", STREAMED_ROWS_S, lambda it: streamed(session, it, folder)),
        "trigger p50": ("ms", TRIGGER_MS, lambda it: trigger_ms(session, it, folder)),
    }
    for name, (unit, limit, take) in figures.items():
        show((name, unit, limit), servers, take, rounds)
    session.stop()
    clean: dict[str, list[float]] = {key: [] for key in servers}
    resumed: dict[str, list[float]] = {key: [] for key in servers}
    for _ in range(max(rounds // 2, 1)):
        for key, server in servers.items():
            one, other = start_s(server, folder)
            clean[key].append(one)
            resumed[key].append(other)
    for key in servers:
        one, other = statistics.median(clean[key]), statistics.median(resumed[key])
        print(f"resume      {key:20} {other:6.2f} s, clean {one:.2f} s: {other - one:+.2f} s")
        print(asked(f"resume, {key}, more", other - one, RESUME_S, " s", at_most=True))


def show(
    figure: tuple[str, str, float],
    servers: dict[str, ServerProcess],
    take: Callable[[ServerProcess], float],
    rounds: int,
) -> None:
    """Take a figure of each server in turns, and print medians of all rounds but a first one."""
    name, unit, limit = figure
    found: dict[str, list[float]] = {key: [] for key in servers}
    for _ in range(rounds + 1):
        for key, server in servers.items():
            found[key].append(take(server))
    for key, values in found.items():
        each = " ".join(f"{it:,.0f}" for it in values[1:])
        median = statistics.median(values[1:])
        print(f"{name:11} {key:20} {median:10,.0f} {unit} ({each})")
        print(asked(f"{name}, {key}", median, limit, f" {unit}", at_most=unit == "ms"))


def query_of(session: SparkSession, server: ServerProcess, folder: Path, **options: str) -> Any:
    """Return the writer of a query that reads the stream, without a trigger."""
    reader = session.readStream.format("nats").options(
        servers=server.url, stream="BENCH", minPartitions="2", **options
    )
    checkpoint = str(folder / f"checkpoint-{uuid.uuid4().hex}")
    return reader.load().writeStream.format("noop").option("checkpointLocation", checkpoint)


def streamed(session: SparkSession, server: ServerProcess, folder: Path) -> float:
    """Return rows a second within batches, the first one left out."""
    options = {"startingOffsets": "earliest", "maxOffsetsPerTrigger": str(BATCH_ROWS)}
    query = query_of(session, server, folder, **options).trigger(availableNow=True).start()
    query.awaitTermination()
    batches = [it for it in query.recentProgress if it["numInputRows"]][1:]
    took_ms = sum(it["batchDuration"] for it in batches)
    return float(1000 * sum(it["numInputRows"] for it in batches) / max(took_ms, 1))


def trigger_ms(session: SparkSession, server: ServerProcess, folder: Path) -> float:
    """Return how long a batch takes, in the median, while a few messages come all the time."""
    query = query_of(session, server, folder, startingOffsets="latest").start()
    stopped = threading.Event()
    publishing = threading.Thread(target=publish, args=(server, stopped))
    publishing.start()
    took: dict[int, float] = {}
    try:
        while len(took) < TRIGGERS:
            query.awaitTermination(0.5)
            took |= {
                it["batchId"]: float(it["batchDuration"])
                for it in query.recentProgress
                if it["numInputRows"]
            }
    finally:
        stopped.set()
        publishing.join()
        query.stop()
    return statistics.median([took[it] for it in sorted(took)][10:])


def publish(server: ServerProcess, stopped: threading.Event) -> None:
    """Publish a hundred messages a second."""
    connection = Connection(Target((Address("127.0.0.1", server.port),)))
    while not stopped.wait(0.1):
        connection.send(b"PUB bench.new 5\r\nhello\r\n" * 10)
        connection.flush(10)
    connection.close()


def start_s(server: ServerProcess, folder: Path) -> tuple[float, float]:
    """Return from the start of a process to its first batch: without, and with a checkpoint."""
    checkpoint = folder / f"checkpoint-{uuid.uuid4().hex}"
    begun_s = time.perf_counter()
    with job(server, checkpoint) as lines:
        next(lines)
        clean_s = time.perf_counter() - begun_s
        next(lines)
    begun_s = time.perf_counter()
    with job(server, checkpoint) as lines:
        next(lines)
        return clean_s, time.perf_counter() - begun_s


@contextlib.contextmanager
def job(server: ServerProcess, checkpoint: Path) -> Iterator[Iterator[str]]:
    """Run a query in a process, give the lines that it prints, one a batch; then kill all of it."""
    words = [sys.executable, "-c", JOB, server.url, str(checkpoint), str(BATCH_ROWS // 10)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stdout is not None
    try:
        yield process.stdout
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


if __name__ == "__main__":
    main()
