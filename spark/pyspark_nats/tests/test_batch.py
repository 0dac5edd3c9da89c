"""Batch reads of real streams by a real Spark."""

from __future__ import annotations

import pytest

F = pytest.importorskip("pyspark.sql.functions", reason="needs pyspark: ./dev test -e spark")

COUNT = 1000


def read(session, store, stream, **options):
    reader = session.read.format("nats").option("servers", store.url).option("stream", stream)
    for name, value in options.items():
        reader = reader.option(name.replace("__", "."), value)
    return reader.load()


def sequences(frame):
    return sorted(row.sequence for row in frame.select("sequence").collect())


@pytest.fixture(scope="module")
def orders(store):
    return store.stream(COUNT)


@pytest.mark.both
def test_all_columns(session, store, orders):
    frame = read(session, store, orders)
    rows = frame.orderBy("sequence").collect()

    assert list(range(1, COUNT + 1)) == [row.sequence for row in rows]
    assert (orders, f"{orders}.7", b"message 7", 9) == (
        rows[6].stream, rows[6].subject, bytes(rows[6].data), rows[6].size
    )  # fmt: skip
    document = store.ask(f"STREAM.MSG.GET.{orders}", {"seq": 7})["message"]
    stored_us = frame.where("sequence = 7").select(F.unix_micros("timestamp")).first()[0]
    seconds = session.sql(f"select unix_micros(timestamp '{document['time'][:26]}Z')").first()[0]
    assert seconds == stored_us


def test_partitions_cover_the_stream_once(session, store, orders):
    frame = read(session, store, orders, minPartitions="7")

    assert 7 == frame.rdd.getNumPartitions()
    assert list(range(1, COUNT + 1)) == sequences(frame)


def test_partitions_have_a_largest_size(session, store, orders):
    frame = read(session, store, orders, maxRecordsPerPartition="300")

    assert [250] * 4 == [
        row["count"] for row in frame.groupBy(F.spark_partition_id()).count().collect()
    ]


@pytest.mark.parametrize(
    ("starting", "ending", "expected"),
    [
        ("earliest", "latest", range(1, COUNT + 1)),
        ("latest", "latest", range(0)),
        ('{"NAME": 991}', "latest", range(991, COUNT + 1)),
        ('{"NAME": 1}', '{"NAME": 2}', range(1, 2)),
        ('{"NAME": 1}', '{"NAME": 1}', range(0)),
        ('{"NAME": 1001}', "latest", range(0)),
        ('{"NAME": "earliest"}', '{"NAME": "latest"}', range(1, COUNT + 1)),
    ],
)
def test_offsets(session, store, orders, *, starting, ending, expected):
    frame = read(
        session, store, orders,
        startingOffsets=starting.replace("NAME", orders),
        endingOffsets=ending.replace("NAME", orders),
    )  # fmt: skip

    assert list(expected) == sequences(frame)


def test_timestamps(session, store):
    stream = store.stream(5)
    before = read(session, store, stream, columns="timestamp_ns").orderBy("timestamp_ns").collect()
    # Whole milliseconds are what the option has: begin behind the last of the first five.
    at_ms = before[-1].timestamp_ns // 1_000_000 + 1
    while True:
        store.fill(stream, [6])
        last = store.ask(f"STREAM.INFO.{stream}")["state"]["last_seq"]
        rows = read(session, store, stream, columns="sequence,timestamp_ns").collect()
        if rows and max(row.timestamp_ns for row in rows) >= at_ms * 1_000_000:
            break
    later = read(session, store, stream, startingTimestamp=str(at_ms))
    earlier = read(session, store, stream, endingTimestamp=str(at_ms))

    by_stream = read(
        session, store, stream,
        startingOffsetsByTimestamp=f'{{"{stream}": {at_ms}}}', endingOffsets="latest",
    )  # fmt: skip

    assert sequences(later)[-1] == last
    assert sequences(by_stream) == sequences(later)
    assert sorted(sequences(earlier) + sequences(later)) == list(range(1, last + 1))
    assert set(range(1, 6)) <= set(sequences(earlier))


def test_subjects_are_filtered_by_the_server(session, store, orders):
    one = read(session, store, orders, subject=f"{orders}.3")
    two = read(session, store, orders, subject=f"{orders}.3, {orders}.4", minPartitions="3")

    assert list(range(3, COUNT + 1, 10)) == sequences(one)
    assert sorted([*range(3, COUNT + 1, 10), *range(4, COUNT + 1, 10)]) == sequences(two)
    assert 1 == one.rdd.getNumPartitions()


@pytest.mark.once
def test_columns_and_schema_choose(session, store, orders):
    frame = read(session, store, orders, columns="size,subject")
    reader = session.read.format("nats").option("servers", store.url).option("stream", orders)
    by_schema = reader.schema("data binary, sequence bigint").load()

    assert ["size", "subject"] == frame.columns
    assert (9, f"{orders}.1") == tuple(frame.first())
    assert (bytearray(b"message 5"), 5) == tuple(by_schema.where("sequence = 5").first())


@pytest.mark.both
def test_headers(session, store):
    stream = store.stream()
    store.fill(
        stream, range(1, 41),
        headers=lambda it: b"NATS/1.0\r\nA: %d\r\nB: x\r\nA: 2\r\n\r\n" % it if it % 2 else b"",
    )  # fmt: skip
    frame = read(session, store, stream, includeHeaders="true").orderBy("sequence")
    rows = frame.collect()

    assert [{"A": ["1", "2"], "B": ["x"]}, None] == [row.headers for row in rows[:2]]
    assert b"message 39" == bytes(rows[38].data)
    assert "headers" not in read(session, store, stream).columns


@pytest.mark.once
def test_payloads_that_look_like_the_protocol(session, store):
    stream = store.stream()
    payload = b"\r\nMSG a 1 $JS.ACK.a.b.1.9.9.9.9 2\r\nok\r\n"
    store.fill(stream, range(1, 2001), payload=payload)
    frame = read(session, store, stream, batchRows="100")

    assert [(2000, payload)] == [
        (row["count"], bytes(row["data"])) for row in frame.groupBy("data").count().collect()
    ]


@pytest.mark.once
def test_several_streams(session, store):
    name = store.stream(10)
    more = store.stream(20, name=f"{name}-B")
    reader = session.read.format("nats").option("servers", store.url)

    for option, value in (
        ("streams", f"{name}, {more}"),
        ("streamPattern", f"{name}(-B)?"),
    ):
        counts = reader.option(option, value).load().groupBy("stream").count().collect()
        reader = session.read.format("nats").option("servers", store.url)

        assert {(name, 10), (more, 20)} == {tuple(row) for row in counts}
    subscribed = reader.option("subscribe", f"{more}.5").load()
    assert [5, 15] == sequences(subscribed)


@pytest.mark.both
def test_holes_are_no_loss_and_a_deleted_tail_ends(session, store):
    stream = store.stream(100)
    store.delete(stream, 1, 50, 51, 99, 100)
    frame = read(session, store, stream, minPartitions="4")

    assert [*range(2, 50), *range(52, 99)] == sequences(frame)


def test_an_empty_stream(session, store):
    assert [] == sequences(read(session, store, store.stream()))


def test_filters_are_pushed(session, store, orders):
    frame = read(session, store, orders, filterPushdown="true", maxRecordsPerPartition="10")
    few = frame.where((F.col("sequence") > 990) & (F.col("sequence") <= 995))
    one = frame.where(F.col("subject") == f"{orders}.3")
    like = frame.where(F.col("subject").startswith(f"{orders}.")).where("sequence < 3")

    assert (1, list(range(991, 996))) == (few.rdd.getNumPartitions(), sequences(few))
    assert list(range(3, COUNT + 1, 10)) == sequences(one)
    assert 10 >= one.rdd.getNumPartitions()
    assert [1, 2] == sequences(like)


@pytest.mark.once
def test_filters_on_times_are_pushed(session, store):
    # Messages that come together may have one time.
    stream = store.stream(799)
    store.fill(stream, range(800, COUNT + 1))

    def frame():
        """Load anew: Spark goes on with what it pushed last for a frame (4.3)."""
        return read(session, store, stream, filterPushdown="true", maxRecordsPerPartition="250")

    moment = F.lit(frame().where("sequence = 800").first().timestamp)
    late, early = frame().where(F.col("timestamp") >= moment), frame()

    assert (1, 4) == (late.rdd.getNumPartitions(), early.rdd.getNumPartitions())
    split = sequences(frame().where(F.col("timestamp") < moment)) + sequences(late)
    assert list(range(1, COUNT + 1)) == split
    assert [] == sequences(frame().where(F.col("subject") == "nobody.publishes.this"))


def test_other_peoples_queues_are_read_without_taking(session, store):
    stream = store.stream(20, retention="interest")
    store.ask(
        f"CONSUMER.CREATE.{stream}.theirs",
        {"stream_name": stream, "config": {"name": "theirs", "ack_policy": "explicit",
                                           "durable_name": "theirs"}},
    )  # fmt: skip
    store.fill(stream, range(20))

    assert list(range(21, 41)) == sequences(read(session, store, stream))
    assert 20 == store.ask(f"STREAM.INFO.{stream}")["state"]["messages"]


@pytest.mark.both
def test_messages_got_directly_are_the_same(session, store):
    stream = store.stream(allow_direct=True)
    store.fill(
        stream, range(1, 401),
        headers=lambda it: b"NATS/1.0\r\nA: %d\r\n\r\n" % it if it % 2 else b"",
    )  # fmt: skip
    store.delete(stream, 1, 50, 51, 399, 400)
    columns = "stream,subject,sequence,timestamp,timestamp_ns,data,size,headers"
    ways = [
        read(
            session, store, stream, protocol=way, columns=columns, minPartitions="3",
            subject=f"{stream}.{subject}",
        ).orderBy("sequence").collect()
        for subject in ("*", "3")
        for way in ("direct", "consumer")
    ]  # fmt: skip

    assert (395, 40) == (len(ways[0]), len(ways[2]))
    assert ways[0] == ways[1]
    assert ways[2] == ways[3]


def test_a_work_queue_is_read_without_taking(session, store):
    stream = store.stream(50, retention="workqueue", allow_direct=True)

    assert list(range(1, 51)) == sequences(read(session, store, stream, minPartitions="2"))
    assert [3, 13, 23, 33, 43] == sequences(read(session, store, stream, subject=f"{stream}.3"))
    assert 50 == store.ask(f"STREAM.INFO.{stream}")["state"]["messages"]


def test_nothing_is_left_behind(session, store, orders):
    read(session, store, orders, minPartitions="3", subject=f"{orders}.3").count()

    assert 0 == store.ask(f"STREAM.INFO.{orders}")["state"]["consumer_count"]
