"""Writes: every row once, whatever is killed; each refusal says why."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from framework.testing import TcpProxy

F = pytest.importorskip("pyspark.sql.functions", reason="needs pyspark: ./dev test -e spark")
errors = pytest.importorskip("pyspark.errors")

JOB = Path(__file__).with_name("copy_job.py")
ROWS = 1000


def rows(session, count=ROWS, parts=2):
    """Return a frame with text to write, the same in the same partitions each time."""
    frame = session.range(0, count, 1, parts)
    return frame.select(F.concat(F.lit("row "), F.col("id")).alias("data"))


def write(store, frame, **options):
    writer = frame.write.format("nats").mode("append").option("servers", store.url)
    for name, value in options.items():
        writer = writer.option(name, value)
    writer.save()


def stored(session, store, stream):
    """Return what is in a stream, sorted."""
    reader = session.read.format("nats").option("servers", store.url).option("stream", stream)
    return sorted(bytes(row.data).decode() for row in reader.load().select("data").collect())


def expected(count=ROWS):
    return sorted(f"row {at}" for at in range(count))


def copy(session, store, source, stream, checkpoint, **options):
    """Copy what is new in a stream by a query, as `copy_job.py` does."""
    terms = {"checkpoint": checkpoint, "options": options, "availableNow": True}
    copying(session, store, source, stream, **terms).awaitTermination()


def copying(session, store, *streams, checkpoint, options=(), **trigger):
    """Start a query that copies a stream into another one."""
    source, stream = streams
    reader = session.readStream.format("nats").option("servers", store.url)
    frame = reader.options(
        stream=source, startingOffsets="earliest", maxOffsetsPerTrigger="5000", minPartitions="2"
    ).load()
    return (
        frame
        .select("data")
        .writeStream.format("nats")
        .options(servers=store.url, subject=f"{stream}.x", **dict(options))
        .option("checkpointLocation", str(checkpoint))
        .trigger(**trigger)
        .start()
    )


@pytest.mark.both
@pytest.mark.parametrize("idempotence", ["msgid", "ledger", "none"])
def test_a_frame_is_written(session, store, idempotence):
    stream = store.stream()
    write(store, rows(session), subject=f"{stream}.x", idempotence=idempotence)

    assert expected() == stored(session, store, stream)


def test_rows_have_subjects_headers_and_ids(session, store):
    stream = store.stream()
    frame = session.sql(f"""
        select '{stream}.' || id as subject, cast('data ' || id as binary) as data,
               map('A', array('1', '2')) as headers, 'id-' || (id % 5) as msg_id
        from range(10)
    """)
    write(store, frame.coalesce(1))
    reader = session.read.format("nats").option("servers", store.url).option("stream", stream)
    found = reader.option("includeHeaders", "true").load().orderBy("sequence").collect()

    assert [f"{stream}.{at}" for at in range(5)] == [row.subject for row in found]
    assert {"A": ["1", "2"], "Nats-Msg-Id": ["id-0"]} == found[0].headers


@pytest.mark.parametrize("idempotence", ["msgid", "ledger"])
def test_a_job_that_is_run_again_writes_nothing_twice(session, store, idempotence):
    stream = store.stream()
    key = f"job-{stream}"
    for _ in range(2):
        write(
            store, rows(session),
            subject=f"{stream}.x", idempotence=idempotence, idempotencyKey=key,
        )  # fmt: skip

    assert expected() == stored(session, store, stream)


def test_a_ledger_goes_on_where_a_job_was_killed_after_the_window(session, store):
    stream = store.stream(duplicate_window=100_000_000)
    key = f"job-{stream}"
    options = {"subject": f"{stream}.x", "idempotence": "ledger", "idempotencyKey": key}
    write(store, rows(session), **options)
    # As if both partitions had been killed: half of the rows are missing, nothing is done, and
    # the stream has forgotten which ids it took.
    store.delete(stream, *range(1, ROWS + 1, 2))
    with store.api() as api:
        for partition in range(2):
            api.connection.request(
                f"SPARK_LEDGER.{key}.{partition}", {"batch": 0, "state": "begun", "seq": 1}
            )
    write(store, rows(session), **options)

    assert expected() == stored(session, store, stream)


@pytest.mark.once
def test_another_thread_writes(session, store):
    """Spark finds sources in Python by the session of a thread; only the first one has one."""
    use_in_this_thread = pytest.importorskip("pyspark_nats").use_in_this_thread
    stream = store.stream()
    frame = rows(session, 10)

    def work(prepare):
        prepare(session)
        write(store, frame, subject=f"{stream}.x")

    with ThreadPoolExecutor(1) as pool:
        before = pool.submit(work, lambda _: None).exception()
        pool.submit(work, use_in_this_thread).result()

    assert "Failed to find the data source: nats" in str(before)
    assert expected(10) == stored(session, store, stream)


@pytest.mark.once
def test_core_subjects_are_written_at_most_once(session, store):
    with store.api() as api:
        sid = api.connection.subscribe("core.test")
        api.connection.flush(10)
        write(store, rows(session, 10), subject="core.test", delivery="core")
        found = sorted(api.connection.next_message(20).payload.decode() for _ in range(10))

    assert sid
    assert expected(10) == found


def test_a_query_writes_batches(session, store, tmp_path):
    source, stream = store.stream(ROWS), store.stream()
    copy(session, store, source, stream, tmp_path)
    store.fill(source, range(ROWS + 1, ROWS + 11))
    copy(session, store, source, stream, tmp_path)

    assert ROWS + 10 == len(set(stored(session, store, stream)))
    assert ROWS + 10 == store.ask(f"STREAM.INFO.{stream}")["state"]["messages"]


def test_a_killed_worker_leaves_nothing_out_and_nothing_twice(
    session, store, workers_of, stop_behind
):
    """The task is tried again, and writes all its rows under the same ids."""
    stream = store.stream()
    count = 20_000

    def messages():
        return store.ask(f"STREAM.INFO.{stream}")["state"]["messages"]

    def kill():
        stop_behind(proxy, 1 << 18)
        killed = workers_of(proxy.port)
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        stored_then = messages()
        proxy.delay_s = 0.0
        return killed, stored_then

    with ThreadPoolExecutor(1) as pool, TcpProxy(store.server.port) as proxy:
        killing = pool.submit(kill)
        options = {"subject": f"{stream}.x", "ackWindow": "50"}
        url = f"nats://127.0.0.1:{proxy.port}"
        write(store, rows(session, count, 1), servers=url, **options)
        killed, stored_then = killing.result()

    assert killed
    assert 0 < stored_then < count
    assert count == messages()


@pytest.mark.once
def test_two_queries_with_one_checkpoint(session, store, tmp_path):
    """Of one session, the second takes the place of the first."""
    source, stream = store.stream(2000), store.stream()
    terms = {"checkpoint": tmp_path, "processingTime": "0 seconds"}
    first = copying(session, store, source, stream, **terms)
    second = copying(session, store, source, stream, **terms)
    try:
        second.processAllAvailable()
        was_active = first.isActive
    finally:
        first.stop()
        second.stop()

    assert not was_active
    assert 2000 == store.ask(f"STREAM.INFO.{stream}")["state"]["messages"]


@pytest.mark.slow
@pytest.mark.once
def test_two_jobs_with_one_checkpoint(session, store, tmp_path):
    """Of two processes, one goes on when both have planned the same batch; Spark ends the other."""
    source, stream = store.stream(20_000), store.stream()
    command = [sys.executable, str(JOB), store.url, source, str(tmp_path), f"msgid={stream}"]
    with contextlib.ExitStack() as stack:
        jobs = [
            stack.enter_context(subprocess.Popen(command, stderr=subprocess.PIPE, text=True))
            for _ in range(2)
        ]
        said = [job.communicate()[1] for job in jobs]

    assert 0 in [job.returncode for job in jobs], said
    copy(session, store, source, stream, tmp_path / "msgid")
    assert 20_000 == store.ask(f"STREAM.INFO.{stream}")["state"]["messages"]
    assert 20_000 == len(set(stored(session, store, stream)))


@pytest.mark.slow
@pytest.mark.once
def test_a_killed_driver_leaves_nothing_out_and_nothing_twice(session, store, tmp_path):
    """The driver, its Java and its workers at once, as when a machine goes away."""
    source = store.stream(20_000)
    targets = {kind: store.stream() for kind in ("msgid", "ledger")}

    def counts():
        return [store.ask(f"STREAM.INFO.{it}")["state"]["messages"] for it in targets.values()]

    pairs = [f"{kind}={stream}" for kind, stream in targets.items()]
    command = [sys.executable, str(JOB), store.url, source, str(tmp_path), *pairs]
    with subprocess.Popen(command, start_new_session=True) as job:
        while min(counts()) < 3000:
            with contextlib.suppress(subprocess.TimeoutExpired):
                pytest.fail(f"ended with {job.wait(0.02)} before it was killed")
        os.killpg(job.pid, signal.SIGKILL)
    done = counts()
    for kind, stream in targets.items():
        copy(session, store, source, stream, tmp_path / kind, idempotence=kind)

    assert all(3000 <= it < 20_000 for it in done)
    assert [20_000, 20_000] == counts()
    for stream in targets.values():
        assert 20_000 == len(set(stored(session, store, stream)))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"subject": "nobody.takes"}, "no stream takes 'nobody.takes'"),
        ({}, "'subject': not set"),
        ({"subject": "x", "idempotence": "twice"}, "msgid, ledger, none"),
        ({"stream": "NONE", "subject": "x"}, "stream not found"),
    ],
)
@pytest.mark.once
def test_a_write_that_cannot_be_says_why(session, store, options, said):
    with pytest.raises(errors.PySparkException, match=said):
        write(store, rows(session, 1), **options)


@pytest.mark.once
def test_columns_that_do_not_fit(session, store):
    stream = store.stream()
    frame = session.range(1)
    with pytest.raises(errors.PySparkException, match=r"can't write the column `id bigint`"):
        write(store, frame, subject=f"{stream}.x")
    with pytest.raises(errors.PySparkException, match="overwrite"):
        rows(session, 1).write.format("nats").mode("overwrite").options(
            servers=store.url, subject=f"{stream}.x"
        ).save()


def test_a_full_stream_says_so(session, store):
    stream = store.stream(max_msgs=5, discard="new")

    with pytest.raises(errors.PySparkException, match="maximum messages exceeded"):
        write(store, rows(session, 20), subject=f"{stream}.x")
    assert 5 == len(stored(session, store, stream))


def test_a_server_that_restarts_is_written_on(session, own_store):
    store = own_store()
    store.server.stop()
    store.server = store.fleet.restart(store.server)
    stream = store.stream()
    port = store.server.port
    # The server goes in the middle: a row of the first partition waits for it.
    count = 40_000
    frame = rows(session, count, 1)

    def restart():
        with store.api() as api:
            while not api.stream(stream).messages:
                pass
        store.restart()

    thread = threading.Thread(target=restart)
    thread.start()
    write(store, frame, subject=f"{stream}.x", ackWindow="500")
    thread.join()

    assert port == store.server.port
    assert count == store.ask(f"STREAM.INFO.{stream}")["state"]["messages"]
