"""The run that loads what most first queries need, for `class_archive`."""

from __future__ import annotations

import contextlib
import tempfile

from pyspark_nats.session import local_session


def main() -> None:
    """Do what most first queries do, and wait until Java has written what it loaded for it."""
    with tempfile.TemporaryDirectory() as folder:
        spark = local_session({"spark.sql.warehouse.dir": f"{folder}/warehouse"})
        from pyspark.sql import functions  # noqa: PLC0415 - after Java was found

        # What stands behind `spark.read.format`, without a server.
        with contextlib.suppress(Exception):
            spark.read.format("nats").options(servers="nats://127.0.0.1:1", stream="S").load()
        rows = spark.range(1000).select(functions.col("id").cast("string").alias("data"))
        rows.write.parquet(f"{folder}/rows")
        spark.read.parquet(f"{folder}/rows").groupBy("data").count().orderBy("data").collect()
        rows.mapInArrow(lambda batches: batches, "data string").agg(functions.max("data")).first()
        rate = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load()
        written = rate.writeStream.format("noop").option("checkpointLocation", f"{folder}/state")
        written.trigger(availableNow=True).start().awaitTermination()
        gateway = spark.sparkContext._gateway  # noqa: SLF001 - whose process has to end
        spark.stop()
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait()


if __name__ == "__main__":
    main()
