"""Reads of a stream by Spark: our source, a reader of nats-py's, and the same rows from Parquet.

Our source reads a real server by consumers, which is the reader in pure Python, and one of ours by
consumers and by exports. Batches that lie in memory show what no source in Python can be faster
than. Writes go to both, with ids and with the ledger. What streams of batches reach is measured by
`bench.spark_queries`.

    ./dev python tools/workspace.py spark
    ./dev python -m bench.spark --rows 1000000 --rounds 5

Rounds take turns, each read of a frame that is new, as Spark plans one once; the first round is not
counted. Rates are rows a second, in medians.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nats
import pyarrow as pa
from pyarrow import ipc, parquet
from pyspark.sql import functions
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark_nats import local_session
from pyspark_nats.connection import Address, Connection, Target
from pyspark_nats.jetstream import JetStream

from bench.asked import asked
from framework.testing import OURS, Fleet, peers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

REAL = "2.15.2"
PAYLOAD_BYTES = 128
SUBJECTS = 1000
WRITTEN_SHARE = 4
"""A write has one row of so many."""
NATS_PY_SHARE = 10
"""The reader of nats-py gets one row of so many: it would take most of the time."""
FETCH = 5000
COLUMNS = ("subject", "sequence", "timestamp", "data", "size")
"""What every reader reads."""
EXPORT, FALLBACK, NATS_PY, PARQUET = "ours, exports", "pyspark_nats", "nats-py reader", "parquet"
AT_HAND = "batches at hand"
AT_HAND_ROWS = 3200
"""Of a batch: as many as a frame of an export has."""
RATIOS = (
    (EXPORT, FALLBACK, 3.0),
    (EXPORT, NATS_PY, 20.0),
    (EXPORT, PARQUET, 0.6),
    (FALLBACK, NATS_PY, 6.0),
    ("sink, ledger", "sink, msgid", 0.7),
    ("ours, sink, ledger", "ours, sink, msgid", 0.7),
)
"""What is asked of one way in times of another."""
SINK_ROWS_S = 100_000
"""Asked of the sink with ids."""


class NatsPySource(DataSource):
    """What one writes first: a pull consumer of nats-py in each task, rows as Arrow batches."""

    @classmethod
    def name(cls) -> str:
        """Return its name."""
        return "nats_py"

    def schema(self) -> str:
        """Return the columns of a read."""
        return "subject string, sequence bigint, timestamp timestamp, data binary, size int"

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002 - Spark's
        """Return what reads."""
        return NatsPyReader(dict(self.options))


class AtHandSource(DataSource):
    """Two files of Arrow batches, ready to be handed to Spark."""

    @classmethod
    def name(cls) -> str:
        """Return its name."""
        return "at_hand"

    def schema(self) -> str:
        """Return the columns of a read."""
        return "subject string, sequence bigint, timestamp timestamp, data binary, size int"

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002 - Spark's
        """Return what reads."""
        return AtHandReader(dict(self.options))


class AtHandReader(DataSourceReader):
    """A file a task."""

    def __init__(self, options: dict[str, str]) -> None:
        self.options = options

    def partitions(self) -> list[InputPartition]:
        """Return two halves."""
        return [InputPartition(0), InputPartition(1)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the batches of a half."""
        with pa.memory_map(f"{self.options['path']}.{partition.value}") as file:
            yield from ipc.open_stream(file)


def at_hand(session: SparkSession, written: DataFrame, path: str) -> Callable[[], DataFrame]:
    """Return what reads rows by `AtHandReader`, which stand in a folder as Parquet."""
    schema = to_arrow_schema(written.schema, timezone="UTC")
    table = parquet.read_table(path).cast(schema)
    half = table.num_rows // 2
    for at, part in enumerate((table[:half], table[half:])):
        with ipc.new_stream(f"{path}.{at}", schema) as file:
            file.write_table(part.combine_chunks(), max_chunksize=AT_HAND_ROWS)
    session.dataSource.register(AtHandSource)
    return lambda: session.read.format("at_hand").option("path", path).load()


class NatsPyReader(DataSourceReader):
    """Two ranges of one stream."""

    def __init__(self, options: dict[str, str]) -> None:
        self.options = options

    def partitions(self) -> list[InputPartition]:
        """Return two halves."""
        half = int(self.options["rows"]) // 2
        return [InputPartition((1, half)), InputPartition((half + 1, 2 * half))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the batches of a half."""
        yield from asyncio.run(self.fetched(*partition.value))

    async def fetched(self, first: int, last: int) -> list[pa.RecordBatch]:
        """Return the batches of a range."""
        client = await nats.connect(self.options["servers"])
        config = nats.js.api.ConsumerConfig(
            ack_policy=nats.js.api.AckPolicy.NONE,
            deliver_policy=nats.js.api.DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=first,
        )
        pulled = await client.jetstream().pull_subscribe(
            "", stream=self.options["stream"], config=config
        )
        batches, left = [], last - first + 1
        while left:
            messages = await pulled.fetch(min(FETCH, left))
            left -= len(messages)
            batches.append(batch_of(messages))
        await client.close()
        return batches


def batch_of(messages: list[Any]) -> pa.RecordBatch:
    """Return nats-py's messages as Arrow."""
    stamps = [each.metadata for each in messages]
    columns = {
        "subject": pa.array([each.subject for each in messages], pa.string()),
        "sequence": pa.array([each.sequence.stream for each in stamps], pa.int64()),
        "timestamp": pa.array([each.timestamp for each in stamps], pa.timestamp("us", "UTC")),
        "data": pa.array([each.data for each in messages], pa.binary()),
        "size": pa.array([len(each.data) for each in messages], pa.int32()),
    }
    return pa.RecordBatch.from_pydict(columns)


def main() -> None:
    """Fill a stream, read it in turns, print medians."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    peers.bring(REAL)
    with tempfile.TemporaryDirectory() as folder:
        fleet = Fleet(Path(folder))
        server = fleet.start(kind=REAL, config=f'jetstream {{ store_dir: "{folder}/js" }}')
        plugin = ("-plugin", "framework_jetstream.plugin")
        ours = fleet.start(*plugin, kind=OURS, config=f'jetstream {{ store_dir: "{folder}/ours" }}')
        try:
            for each in (server, ours):
                fill(each.port, arguments.rows)
            measure(server.url, ours.url, folder, arguments.rows, arguments.rounds)
        finally:
            fleet.stop()


def fill(port: int, rows: int) -> None:
    """Store the rows."""
    connection = Connection(Target((Address("127.0.0.1", port),)))
    JetStream(connection).create_stream({"name": "BENCH", "subjects": ["bench.*"]})
    reply = f"{connection.inbox}.stored"
    connection.subscribe(reply)
    waiting = 0
    for number in range(rows):
        payload = (b"%d " % number).ljust(PAYLOAD_BYTES, b"x")
        line = f"PUB bench.{number % SUBJECTS} {reply} {len(payload)}\r\n".encode()
        connection.send(line + payload + b"\r\n")
        waiting += 1
        while waiting >= 2 * SUBJECTS or (number == rows - 1 and waiting):
            assert connection.next_message(10) is not None
            waiting -= 1
    connection.close()


def measure(url: str, own_url: str, folder: str, rows: int, rounds: int) -> None:
    """Read in turns, and print what came out.

    Args:
        url: Of the real server.
        own_url: Of ours.
        folder: For Parquet and checkpoints.
        rows: In the stream of each.
        rounds: Counted ones.
    """
    session = local_session()
    session.dataSource.register(NatsPySource)
    rows_file = f"{folder}/rows"
    written = source(session, url)
    written.write.parquet(rows_file)
    few = str(rows // NATS_PY_SHARE)
    theirs = session.read.format("nats_py").option("servers", url).option("stream", "BENCH")
    contest: dict[str, Callable[[], DataFrame]] = {
        FALLBACK: lambda: source(session, url),
        "ours, consumers": lambda: source(session, own_url, protocol="consumer"),
        EXPORT: lambda: source(session, own_url, protocol="export"),
        NATS_PY: lambda: theirs.option("rows", few).load(),
        PARQUET: lambda: session.read.parquet(rows_file),
        AT_HAND: at_hand(session, written, rows_file),
    }
    rates: dict[str, list[float]] = {name: [] for name in contest}
    for _ in range(rounds + 1):
        for name, frame in contest.items():
            rates[name].append(rate(frame()))
    medians = {name: statistics.median(each[1:]) for name, each in rates.items()}
    medians |= write_rates(session, {"": url, "ours, ": own_url}, rows // WRITTEN_SHARE, rounds)
    session.stop()
    for name, median in medians.items():
        times = " ".join(
            f"{median / medians[other]:6.2f}x {other}" for other in (NATS_PY, FALLBACK, PARQUET)
        )
        sys.stdout.write(f"{name:18} {median:12,.0f} rows/s  {times}\n")
    for name, other, limit in RATIOS:
        ratio = medians[name] / medians[other]
        sys.stdout.write(asked(f"{name} to {other}", ratio, limit, "x") + "\n")
    for name in ("sink, msgid", "ours, sink, msgid"):
        sys.stdout.write(asked(name, medians[name], SINK_ROWS_S, " rows/s") + "\n")
    load = os.getloadavg()[0]
    sys.stdout.write(json.dumps({"rows": rows, "rounds": rounds, "load": load, **medians}) + "\n")


def source(session: SparkSession, url: str, **options: str) -> DataFrame:
    """Return a read of the stream of a server, in two parts."""
    reader = session.read.format("nats").options(servers=url, stream="BENCH", **options)
    columns = ",".join(COLUMNS)
    return reader.options(minPartitions="2", columns=columns).load()


def rate(frame: DataFrame) -> float:
    """Return rows a second of a query that reads every column."""
    begun = time.perf_counter()
    row = frame.agg(
        functions.count("*"),
        functions.max("subject"),
        functions.sum("sequence"),
        functions.max("timestamp"),
        functions.sum(functions.length("data")),
        functions.sum("size"),
    ).first()
    assert row is not None
    return float(row[0]) / (time.perf_counter() - begun)


def write_rates(
    session: SparkSession, servers: dict[str, str], count: int, rounds: int
) -> dict[str, float]:
    """Return rows a second of writes of a frame, in medians of all rounds but the first.

    Ways take turns, and change places each round: a stream is slower the more ids it remembers.

    Args:
        session: Writes.
        servers: URLs, by what names of figures begin with.
        count: Rows of the frame.
        rounds: Counted ones.
    """
    data = functions.rpad(functions.col("id").cast("string"), PAYLOAD_BYTES, "x")
    frame = session.range(0, count, 1, 2).select(data.alias("data"))
    ways = [(whose, how) for whose in servers for how in ("msgid", "ledger")]
    rates: dict[str, list[float]] = {f"{whose}sink, {how}": [] for whose, how in ways}
    for _ in range(rounds + 1):
        for whose, how in ways:
            writer = frame.write.format("nats").mode("append")
            begun = time.perf_counter()
            writer.options(servers=servers[whose], subject="bench.sink", idempotence=how).save()
            rates[f"{whose}sink, {how}"].append(count / (time.perf_counter() - begun))
        ways.reverse()
    return {name: statistics.median(each[1:]) for name, each in rates.items()}


if __name__ == "__main__":
    main()
