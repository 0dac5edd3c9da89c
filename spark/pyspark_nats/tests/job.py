"""A query in a process of its own, for tests that kill it: URL, stream, folder."""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark_nats import local_session


def main(url, stream, folder):
    session = local_session({"spark.sql.warehouse.dir": f"{folder}/warehouse"}, memory="512m")
    reader = session.readStream.format("nats").option("servers", url).option("stream", stream)
    options = {"startingOffsets": "earliest", "maxOffsetsPerTrigger": "5000", "minPartitions": "2"}
    query = (
        reader
        .options(**options)
        .load()
        .writeStream.format("parquet")
        .option("path", str(Path(folder, "rows")))
        .option("checkpointLocation", str(Path(folder, "checkpoint")))
        .start()
    )
    told = -1
    while query.isActive:
        query.awaitTermination(0.02)
        progress = query.lastProgress
        if progress and progress["numInputRows"] and progress["batchId"] != told:
            told = progress["batchId"]
            sys.stdout.write(f"batch {told}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
