"""A query that copies a stream: URL, source, target, folder, idempotence."""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark_nats import local_session


def main(url, source, target, folder, idempotence):
    session = local_session({"spark.sql.warehouse.dir": f"{folder}/warehouse"}, memory="512m")
    reader = session.readStream.format("nats").option("servers", url).option("stream", source)
    options = {"startingOffsets": "earliest", "maxOffsetsPerTrigger": "5000", "minPartitions": "2"}
    query = (
        reader
        .options(**options)
        .load()
        .select("data")
        .writeStream.format("nats")
        .options(servers=url, subject=f"{target}.x", idempotence=idempotence, ackWindow="200")
        .option("checkpointLocation", str(Path(folder, "checkpoint")))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
