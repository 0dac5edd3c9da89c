"""What a shop's messages say, as they flow: reads the taps, writes tables, plots and alerts.

`framework run examples/analytics/topology.toml` runs it beside the servers. Alone, with servers
that have the taps: `framework spark examples/analytics/pipeline.py --once`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them
from pyspark_nats.connection import Connection, Target, address_from_url
from pyspark_nats.errors import NatsSourceError
from pyspark_nats.jetstream import JetStream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

STREAM = "TAP_shop"
RUSH = 3.0
"""Times its usual rate at which a shop's orders are worth an alert."""
URLS = os.environ.get("NATS_URL", "nats://127.0.0.1:4222")

spark = SparkSession.builder.getOrCreate()
"""That of `framework spark`, or of spark-submit."""


def main() -> None:
    """Follow the taps until the servers stop; or look once at what is there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--once", action="store_true", help="read what is there, then end")
    parser.add_argument("--out", type=Path, default=Path("analytics-out"), help="folder of results")
    arguments = parser.parse_args()
    await_stream()
    taps = spark.readStream.format("nats").options(
        servers=URLS, stream=STREAM, view="tap", startingOffsets="earliest", failOnDataLoss="false"
    )
    query = (
        taps
        .load()
        .writeStream.queryName("shop")
        .option("checkpointLocation", str(arguments.out / "checkpoint"))
        .foreachBatch(Tables(arguments.out).take)
        .trigger(**({"availableNow": True} if arguments.once else {"processingTime": "2 seconds"}))
        .start()
    )
    query.awaitTermination()


def await_stream() -> None:
    """Wait until the first tap has made its stream: servers and pipeline start together."""
    addresses = tuple(address_from_url(url)[0] for url in URLS.split(","))
    while True:
        try:
            connection = Connection(Target(addresses), patience_s=60)
            try:
                JetStream(connection).stream(STREAM)
                return
            finally:
                connection.close()
        except NatsSourceError as error:
            print(f"waiting for {STREAM}: {error}", file=sys.stderr)
            time.sleep(1)


class Tables:
    """Keeps what was read as Parquet, and sums it up after each batch.

    Args:
        folder: Of results.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def take(self, batch: DataFrame, number: int) -> None:
        """Add a batch, once: its folder has its number, in case it is read again."""
        rows = self.folder / "rows"
        batch.write.mode("overwrite").parquet(str(rows / f"batch={number}"))
        frame = spark.read.parquet(str(rows)).cache()
        try:
            found = summary(frame)
        finally:
            frame.unpersist()
        written = self.folder / "summary.json.new"
        written.write_text(json.dumps(found, indent=1, default=str))
        written.replace(self.folder / "summary.json")
        plot(found, self.folder / "shop.png")
        alert(found["rushes"])


def summary(frame: DataFrame) -> dict[str, list[dict[str, Any]]]:
    """Return top talkers, rates, latencies, lags, rushes and what was dropped."""
    messages = frame.where("subject is not null and latency_ns is null")
    rates = messages.groupBy("subject", F.date_trunc("second", "timestamp").alias("second")).agg(
        F.count("*").alias("messages"), F.sum("size").alias("bytes")
    )
    usual = (
        rates
        .where("subject like 'orders.%'")
        .groupBy("subject")
        .agg(
            F.percentile_approx("messages", 0.5).alias("usual"),
            F.max_by("messages", "second").alias("now"),
            F.max("second").alias("second"),
        )
    )
    latency = (
        frame
        .where("latency_ns is not null")
        .groupBy("request_subject")
        .agg(
            F.count("*").alias("requests"),
            *(
                F.percentile_approx(F.col("latency_ns") / 1e6, share).alias(f"p{share * 100:g}_ms")
                for share in (0.5, 0.9, 0.99)
            ),
        )
    )
    talkers = messages.groupBy("client", "cid", "server").agg(
        F.count("*").alias("messages"), F.sum("size").alias("bytes")
    )
    all_latencies = frame.where("latency_ns is not null").select(
        F.percentile_approx(F.col("latency_ns") / 1e6, [it / 100 for it in range(1, 100)]).alias(
            "curve"
        )
    )
    return {
        "talkers": dicts(talkers.orderBy(F.desc("messages")).limit(10)),
        "rates": dicts(rates.orderBy("second")),
        "latency": dicts(latency.orderBy(F.desc("p99_ms")).limit(10)),
        "latency_curve": dicts(all_latencies),
        "lag": lags(),
        "rushes": dicts(usual.where(F.col("now") >= RUSH * F.greatest("usual", F.lit(1)))),
        "dropped": dicts(frame.groupBy("server").agg(F.sum("dropped").alias("messages"))),
    }


def lags() -> list[dict[str, Any]]:
    """Return how far consumers are behind, the furthest first."""
    consumers = spark.read.format("nats").options(servers=URLS, view="consumers").load()
    shown = consumers.select("stream", "consumer", "lag", "ack_pending")
    return dicts(shown.orderBy(F.desc("lag")).limit(10))


def dicts(frame: DataFrame) -> list[dict[str, Any]]:
    return [row.asDict() for row in frame.collect()]


def alert(rushes: list[dict[str, Any]]) -> None:
    """Write alerts back, where whoever subscribes to `alerts.>` gets them."""
    if rushes:
        rows = [(f"alerts.{it['subject']}", json.dumps(it, default=str)) for it in rushes]
        frame = spark.createDataFrame(rows, "subject string, data string")
        frame.write.format("nats").mode("append").options(servers=URLS, delivery="core").save()


def plot(found: dict[str, list[dict[str, Any]]], file: Path) -> None:
    """Draw a summary, where matplotlib is there."""
    try:
        from plots import save  # noqa: PLC0415 - for who wants plots
    except ImportError:
        return
    save(found, file)


if __name__ == "__main__":
    main()
