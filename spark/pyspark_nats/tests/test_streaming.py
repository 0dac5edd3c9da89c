"""Streaming reads: every message once, from offsets of the checkpoint alone."""

from __future__ import annotations

import io
import json

import pytest

errors = pytest.importorskip("pyspark.errors", reason="needs pyspark: ./dev test -e spark")


class Table:
    """Where a query of a test ends up: Parquet files and a checkpoint."""

    def __init__(self, session, folder):
        self.session = session
        self.rows, self.checkpoint = folder / "rows", folder / "checkpoint"

    def run(self, frame, **trigger):
        """Read all that is there now; return the progress of each batch."""
        query = (
            frame.writeStream
            .format("parquet")
            .option("path", str(self.rows))
            .option("checkpointLocation", str(self.checkpoint))
            .trigger(**(trigger or {"availableNow": True}))
            .start()
        )
        try:
            query.awaitTermination()
            return [json.loads(each.json) for each in query.recentProgress]
        finally:
            query.stop()

    def sequences(self):
        frame = self.session.read.schema("sequence bigint").parquet(str(self.rows))
        return sorted(row.sequence for row in frame.collect())


@pytest.fixture
def table(session, tmp_path):
    return Table(session, tmp_path)


def stream(session, store, name, **options):
    reader = session.readStream.format("nats").option("servers", store.url).option("stream", name)
    for option, value in {"startingOffsets": "earliest", **options}.items():
        reader = reader.option(option, value)
    return reader.load()


@pytest.mark.both
def test_a_query_goes_on_where_it_was(session, store, table):
    name = store.stream(100)
    table.run(stream(session, store, name))
    store.fill(name, range(50))
    table.run(stream(session, store, name))
    table.run(stream(session, store, name))

    assert list(range(1, 151)) == table.sequences()


@pytest.mark.once
def test_offsets_are_in_the_progress_and_batches_are_limited(session, store, table):
    name = store.stream(95)
    frame = stream(session, store, name, maxOffsetsPerTrigger="30", minPartitions="2")
    batches = [it for it in table.run(frame) if it["numInputRows"]]

    assert [30, 30, 30, 5] == [batch["numInputRows"] for batch in batches]
    [source] = batches[1]["sources"]
    ends = [source[it]["s"][name]["next"] for it in ("startOffset", "endOffset", "latestOffset")]
    assert [31, 61, 96] == ends
    assert list(range(1, 96)) == table.sequences()


@pytest.mark.once
def test_progress_as_lines_of_json(session, store, table, wait_until):
    listener = pytest.importorskip("pyspark_nats.listener")
    name = store.stream(50)
    frame = stream(session, store, name, maxOffsetsPerTrigger="20")
    lines = [listener.line_of(it) for it in table.run(frame) if it["numInputRows"]]
    file = io.StringIO()
    progress = listener.JsonProgress(file)
    session.streams.addListener(progress)
    try:
        store.fill(name, range(5))
        table.run(stream(session, store, name))
        wait_until(lambda: '"ended": true' in file.getvalue())
    finally:
        session.streams.removeListener(progress)
    written = [json.loads(line) for line in file.getvalue().splitlines()]

    assert [(20, 30), (20, 10), (10, 0)] == [
        (it["rows"], it["streams"][name]["lag"]) for it in lines
    ]
    assert {"next": 56, "lag": 0} == next(it for it in written if it.get("rows"))["streams"][name]


@pytest.mark.once
def test_a_batch_waits_until_there_is_enough(session, store, table, wait_until):
    name = store.stream(10)
    frame = stream(session, store, name, minOffsetsPerTrigger="15", maxTriggerDelay="1h")
    query = (
        frame.writeStream
        .format("parquet")
        .option("path", str(table.rows))
        .option("checkpointLocation", str(table.checkpoint))
        .start()
    )
    try:
        query.awaitTermination(1)
        before = [it for it in query.recentProgress if it["numInputRows"]]
        store.fill(name, range(5))
        wait_until(lambda: any(it["numInputRows"] for it in query.recentProgress))
    finally:
        query.stop()

    assert not before
    assert list(range(1, 16)) == table.sequences()


@pytest.mark.once
def test_a_limit_of_bytes(session, store, table):
    name = store.stream()
    store.fill(name, range(100), payload=b"x" * 1000)
    size = store.ask(f"STREAM.INFO.{name}")["state"]["bytes"]
    frame = stream(session, store, name, maxBytesPerTrigger=str(size // 4))
    batches = [it["numInputRows"] for it in table.run(frame) if it["numInputRows"]]

    assert [25] * 4 == batches


@pytest.mark.once
def test_latest_is_where_a_stream_begins_by_default(session, store, table):
    name = store.stream(10)
    reader = session.readStream.format("nats").option("servers", store.url).option("stream", name)
    table.run(reader.load())
    store.fill(name, range(5))
    table.run(reader.load())

    assert list(range(11, 16)) == table.sequences()


def test_filters_holes_and_a_deleted_tail(session, store, table):
    name = store.stream(100)
    store.delete(name, 12, 50, 99, 100)
    table.run(stream(session, store, name, subject=f"{name}.2"))

    assert [it for it in range(2, 100, 10) if it != 12] == table.sequences()


@pytest.mark.once
def test_all_of_several_streams(session, store, table):
    first = store.stream(40)
    second = store.stream(4, name=f"{first}-B")
    reader = session.readStream.format("nats").option("servers", store.url)
    reader = reader.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", "11")
    table.run(reader.option("streams", f"{first},{second}").load())

    assert sorted([*range(1, 41), *range(1, 5)]) == table.sequences()


LOSSES = {
    "purged": (lambda store, name: store.purge(name, 61), "messages 51 to 60 are gone"),
    "remade": (lambda store, name: store.remake(name, 70), "created anew"),
}


@pytest.mark.parametrize("how", LOSSES)
def test_a_loss_fails_the_query(session, store, table, how):
    lose, said = LOSSES[how]
    name = store.stream(50)
    table.run(stream(session, store, name))
    store.fill(name, range(50))
    lose(store, name)

    with pytest.raises(errors.StreamingQueryException, match=said):
        table.run(stream(session, store, name))
    assert list(range(1, 51)) == table.sequences()


def test_a_loss_may_be_accepted(session, store, table):
    name = store.stream(50)
    table.run(stream(session, store, name))
    store.fill(name, range(50))
    store.purge(name, 61)
    table.run(stream(session, store, name, failOnDataLoss="false"))

    assert [*range(1, 51), *range(61, 101)] == table.sequences()
    store.remake(name, 7)
    table.run(stream(session, store, name, failOnDataLoss="false"))
    assert sorted([*range(1, 51), *range(61, 101), *range(1, 8)]) == table.sequences()


def test_what_others_take_from_a_work_queue_is_no_loss(session, store, table):
    name = store.stream(20, retention="workqueue", allow_direct=True)
    table.run(stream(session, store, name))
    store.fill(name, range(20))
    store.delete(name, *range(1, 31))
    table.run(stream(session, store, name))

    assert [*range(1, 21), *range(31, 41)] == table.sequences()


@pytest.mark.once
def test_what_was_read_may_go(session, store, table):
    name = store.stream(50)
    table.run(stream(session, store, name))
    store.purge(name, 51)
    table.run(stream(session, store, name))
    store.fill(name, range(5))
    table.run(stream(session, store, name))

    assert list(range(1, 56)) == table.sequences()


@pytest.mark.once
def test_another_streams_checkpoint(session, store, table):
    table.run(stream(session, store, store.stream(10)))

    with pytest.raises(errors.StreamingQueryException, match="no longer chosen"):
        table.run(stream(session, store, store.stream(10)))


@pytest.mark.peer("nats")
def test_progress_is_in_a_bucket_that_the_cli_reads(session, store, table, nats_cli):
    name = store.stream(95)
    table.run(stream(session, store, name, maxOffsetsPerTrigger="50", progress="tests.orders"))
    key = f"tests.orders.{name}"
    value = json.loads(nats_cli.run(store.url, "kv", "get", "SPARK_PROGRESS", key, "--raw"))

    # Spark tells a source that a batch is done when it plans the next one.
    assert value in ({"next": 51, "end": 96, "lag": 45}, {"next": 96, "end": 96, "lag": 0})


def test_a_server_that_restarts_is_read_on(session, own_store, table):
    store = own_store()
    store.server.stop()
    store.server = store.fleet.restart(store.server)
    name = store.stream(20_000)
    frame = stream(session, store, name, maxOffsetsPerTrigger="5000")
    query = (
        frame.writeStream
        .format("parquet")
        .option("path", str(table.rows))
        .option("checkpointLocation", str(table.checkpoint))
        .trigger(processingTime="0 seconds")
        .start()
    )
    try:
        while query.lastProgress is None:
            query.awaitTermination(1)
        store.restart()
        store.fill(name, range(10_000))
        query.processAllAvailable()
    finally:
        query.stop()

    assert list(range(1, 30_001)) == table.sequences()
