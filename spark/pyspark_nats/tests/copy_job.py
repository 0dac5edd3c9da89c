"""Copies a stream by queries: URL, source, folder, and `<idempotence>=<target>` of each."""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark_nats import local_session


def main(url, source, folder, *targets):
    session = local_session({"spark.sql.warehouse.dir": f"{folder}/warehouse"}, memory="512m")
    reader = session.readStream.format("nats").option("servers", url).option("stream", source)
    options = {"startingOffsets": "earliest", "maxOffsetsPerTrigger": "5000", "minPartitions": "2"}
    frame = reader.options(**options).load().select("data")
    for target in targets:
        idempotence, _, stream = target.partition("=")
        writer = frame.writeStream.format("nats").trigger(availableNow=True)
        # A small window, so that there is time to kill it.
        writer = writer.options(
            servers=url, subject=f"{stream}.x", idempotence=idempotence, ackWindow="50"
        )
        writer.option("checkpointLocation", str(Path(folder, idempotence))).start()
    for query in session.streams.active:
        query.awaitTermination()
    session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
