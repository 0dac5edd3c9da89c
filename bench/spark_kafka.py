r"""Reads of a NATS stream beside the same rows read by Spark's own connector for Kafka.

    for part in broker connector; do
        mvn -q -f bench/kafka/pom.xml -P $part dependency:copy-dependencies \
            -DoutputDirectory=/tmp/jars/$part
    done
    ./dev python -m bench.spark_kafka --jars /tmp/jars --rows 1000000 --rounds 5

One broker with one topic of two partitions, a real NATS server, and one of ours; all on loopback,
each reader in two parts, in turns; the first round is not counted. Beside them stand the same rows
as Arrow batches in memory: no source in Python is faster. Needs `java` of 17 or newer.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import os
import statistics
import subprocess
import tempfile
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions
from pyspark_nats import local_session

from bench.asked import asked
from bench.spark import AT_HAND, PAYLOAD_BYTES, REAL, SUBJECTS, at_hand, fill, rate, source
from framework.testing import OURS, Fleet, free_port, peers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

TOPIC: Final = "bench"
PARTS: Final = 2
EXPORT, FALLBACK, KAFKA = "ours, exports", "pyspark_nats", "kafka"
ASKED: Final = {EXPORT: 4.0, FALLBACK: 0.9}
"""In times of Kafka's connector."""
SETTINGS: Final = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{control}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{control}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
log.dirs={folder}/log
num.partitions={parts}
offsets.topic.replication.factor=1
"""


def main() -> None:
    """Fill all three, and read them in turns."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jars", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    peers.bring(REAL)
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        fleet = Fleet(Path(folder))
        stack.callback(fleet.stop)
        config = 'jetstream {{ store_dir: "{}/{}" }}'
        real = fleet.start(kind=REAL, config=config.format(folder, "real"))
        plugin = ("-plugin", "framework_jetstream.plugin")
        ours = fleet.start(*plugin, kind=OURS, config=config.format(folder, "ours"))
        for server in (real, ours):
            fill(server.port, arguments.rows)
        broker = stack.enter_context(broker_of(arguments.jars / "broker", Path(folder, "kafka")))
        jars = ",".join(str(it) for it in sorted((arguments.jars / "connector").glob("*.jar")))
        session = local_session({"spark.jars": jars})
        stack.callback(session.stop)
        write(session, broker, arguments.rows)
        rows, written = f"{folder}/rows", source(session, real.url)
        written.write.parquet(rows)
        contest: dict[str, Callable[[], DataFrame]] = {
            KAFKA: lambda: read(session, broker),
            FALLBACK: lambda: source(session, real.url),
            EXPORT: lambda: source(session, ours.url, protocol="export"),
            AT_HAND: at_hand(session, written, rows),
        }
        show(contest, arguments.rounds)


@contextlib.contextmanager
def broker_of(jars: Path, folder: Path) -> Iterator[str]:
    """Start a broker, give its address, and end it."""
    folder.mkdir()
    port, control = free_port(), free_port()
    settings = folder / "server.properties"
    text = SETTINGS.format(port=port, control=control, folder=folder, parts=PARTS)
    settings.write_text(text, "utf-8")
    java = ("java", "-Xmx1g", "-cp", f"{jars}/*")
    name = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    words = [*java, "kafka.tools.StorageTool", "format", "-t", name, "-c", str(settings)]
    subprocess.run(words, check=True, capture_output=True)
    log = folder / "broker.log"
    with (
        log.open("wb") as to,
        subprocess.Popen(
            [*java, "kafka.Kafka", str(settings)], stdout=to, stderr=subprocess.STDOUT
        ) as process,
    ):
        try:
            yield f"127.0.0.1:{port}"
        finally:
            process.terminate()


def write(session: SparkSession, broker: str, rows: int) -> None:
    """Write the rows, as long and with as many keys as the streams have."""
    number = functions.col("id")
    key = functions.concat(functions.lit("bench."), (number % SUBJECTS).cast("string"))
    value = functions.rpad(number.cast("string"), PAYLOAD_BYTES, "x")
    frame = session.range(0, rows, 1, PARTS).select(key.alias("key"), value.alias("value"))
    options = {"kafka.bootstrap.servers": broker, "topic": TOPIC}
    frame.write.format("kafka").options(**options).save()


def read(session: SparkSession, broker: str) -> DataFrame:
    """Return the rows, in columns as ours have them."""
    options = {"kafka.bootstrap.servers": broker, "subscribe": TOPIC}
    frame = session.read.format("kafka").options(**options).load()
    return frame.selectExpr(
        "cast(key as string) as subject", "offset as sequence", "timestamp", "value as data",
        "length(value) as size",
    )  # fmt: skip


def show(contest: dict[str, Callable[[], DataFrame]], rounds: int) -> None:
    """Read in turns, and print medians."""
    rates: dict[str, list[float]] = {name: [] for name in contest}
    for _ in range(rounds + 1):
        for name, frame in contest.items():
            rates[name].append(rate(frame()))
    medians = {name: statistics.median(each[1:]) for name, each in rates.items()}
    for name, median in medians.items():
        each = " ".join(f"{it:,.0f}" for it in rates[name][1:])
        print(f"{name:14} {median:12,.0f} rows/s  {median / medians[KAFKA]:5.2f}x kafka ({each})")
    for name, limit in ASKED.items():
        print(asked(f"{name} to kafka", medians[name] / medians[KAFKA], limit, "x"))
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
