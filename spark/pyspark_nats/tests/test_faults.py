"""Faults in the middle of a read, logins, permissions; what is said, and what is never said."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from pyspark_nats.connection import Address, Target
from pyspark_nats.errors import ConnectError, DataLossError

from framework.testing import TcpProxy

F = pytest.importorskip("pyspark.sql.functions", reason="needs pyspark: ./dev test -e spark")
errors = pytest.importorskip("pyspark.errors")

pull = pytest.importorskip("pyspark_nats.pull")

SECRET = "s3cretpassw0rd"
COUNT = 120_000
"""More than what a consumer is asked for at first, so that something is always to come."""
DENIED = 'permissions: { publish: { deny: "$JS.API.CONSUMER.>" } }'
USERS = f"""
accounts {{
  A {{
    jetstream: enabled
    users: [
      {{ user: ann, password: "{SECRET}" }}
      {{ user: bob, password: "{SECRET}", {DENIED} }}
    ]
  }}
}}
"""


def reader_of(store, name, *, lose=pull.refuse_loss, patience_s=30.0):
    """Return what reads the whole stream, as a task does."""
    with store.api() as api:
        state = api.stream(name)
    target = Target((Address("127.0.0.1", store.server.port),), reconnect_timeout_s=patience_s)
    return pull.PullReader(target, "", pull.Range(name, state.id, 1, state.end), lose)


def sequences(parts):
    return [seq for rows in parts for seq in rows.sequence.to_pylist()]


def test_a_server_that_is_killed_and_started_in_the_middle_of_a_range(own_store):
    store = own_store()
    name = store.stream(COUNT)
    parts = reader_of(store, name).read()
    found = sequences([next(parts)])
    # Told to end, nats-server waits ten seconds for who reads slowly.
    store.server.kill()
    store.server = store.fleet.restart(store.server)
    found += sequences(parts)

    assert list(range(1, COUNT + 1)) == found


@pytest.mark.once
def test_a_server_that_stays_away_ends_the_read(own_store):
    store = own_store()
    name = store.stream(COUNT)
    parts = reader_of(store, name, patience_s=0.5).read()
    next(parts)
    store.server.kill()

    with pytest.raises(ConnectError, match=r"127\.0\.0\.1"):
        sequences(parts)


@pytest.mark.parametrize("how", ["purge", "remake", "delete"])
def test_a_stream_that_is_cut_in_the_middle_of_a_range(store, how):
    name = store.stream(COUNT)
    parts = reader_of(store, name).read()
    found = sequences([next(parts)])
    if how == "purge":
        store.purge(name, COUNT - 9)
    elif how == "remake":
        store.remake(name, 5)
    else:
        store.ask(f"STREAM.DELETE.{name}")

    # What the server has sent already comes still; a loss is never silent.
    with pytest.raises(DataLossError, match=name):
        found.extend(seq for rows in parts for seq in rows.sequence.to_pylist())
    assert list(range(1, len(found) + 1)) == found
    assert len(found) < COUNT


def test_a_stream_that_goes_while_its_tail_is_looked_for_is_a_loss(store, monkeypatch):
    name = store.stream(COUNT)
    parts = reader_of(store, name).read()
    next(parts)
    store.ask(f"STREAM.DELETE.{name}")

    def look(self, api, _bulk, _frame):
        self._check_consumer(api)  # as behind a silence

    monkeypatch.setattr(pull.PullReader, "_receive", look)
    with pytest.raises(DataLossError, match=f"{name}.* was deleted"):
        sequences(parts)


def test_a_cut_may_be_accepted(store):
    name = store.stream(COUNT)
    said = []
    parts = reader_of(store, name, lose=said.append).read()
    found = sequences([next(parts)])
    store.purge(name, COUNT - 9)
    found += sequences(parts)

    assert list(range(COUNT - 9, COUNT + 1)) == found[-10:]
    assert found == sorted(set(found))
    assert said


def frame_of(session, url, stream, **options):
    return session.read.format("nats").options(servers=url, stream=stream, **options).load()


@pytest.mark.once
def test_a_worker_that_is_killed_in_the_middle_of_its_range(
    session, store, workers_of, stop_behind
):
    name = store.stream(COUNT)
    with ThreadPoolExecutor(1) as pool, TcpProxy(store.server.port) as proxy:
        frame = frame_of(session, f"nats://127.0.0.1:{proxy.port}", name)
        query = pool.submit(frame.agg(F.count("*"), F.sum("sequence")).first)
        stop_behind(proxy, 1 << 20)
        killed = workers_of(proxy.port)
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        proxy.delay_s = 0.0
        found = query.result()

    assert killed
    assert (COUNT, sum(range(1, COUNT + 1))) == tuple(found)


@pytest.mark.both
def test_logins(session, own_store):
    store = own_store(USERS, user="ann", password=SECRET)
    name = store.stream(10)
    read = {"user": "ann", "password": SECRET}
    frame = frame_of(session, store.url, name, **read)
    by_url = frame_of(session, f"nats://ann:{SECRET}@127.0.0.1:{store.server.port}", name)

    assert (10, 10) == (frame.count(), by_url.count())
    assert SECRET not in frame._jdf.queryExecution().toString()
    assert SECRET not in by_url._jdf.queryExecution().toString()
    for wrong, said in (
        ({"user": "ann", "password": f"{SECRET}x"}, "Authorization Violation"),
        ({"token": f"{SECRET}x"}, "Authorization Violation"),
        ({}, "Authorization Violation"),
        ({"user": "bob", "password": SECRET, "requestTimeout": "2s"}, "Permissions Violation"),
    ):
        with pytest.raises(errors.PySparkException) as raised:
            frame_of(session, store.url, name, **wrong).count()
        assert said in str(raised.value)
        assert SECRET not in str(raised.value)


@pytest.mark.once
def test_wrong_options_name_themselves(session, store):
    name = store.stream(10)
    for options, said in (
        ({"maxOffsetPerTrigger": "1"}, "maxOffsetsPerTrigger"),
        ({"columns": "offset"}, "sequence, timestamp"),
        ({"startingOffsets": '{"OTHER": 1}'}, f"'OTHER' is not read; valid: {name}"),
        ({"startingOffsets": f'{{"{name}": 12}}'}, "valid: 1 to 11"),
    ):
        with pytest.raises(errors.PySparkException) as raised:
            frame_of(session, store.url, name, **options).count()
        assert said in str(raised.value)
    with pytest.raises(errors.PySparkException, match="there is no stream 'NONE'"):
        frame_of(session, store.url, "NONE").count()
    with pytest.raises(errors.PySparkException, match=r"none can be reached: 127\.0\.0\.1:1 "):
        frame_of(session, "127.0.0.1:1", name).count()
    with pytest.raises(errors.PySparkException, match="no column `data string`"):
        session.read.format("nats").schema("data string").options(
            servers=store.url, stream=name
        ).load().count()


CONNECTED = """
import json, sys
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

remote, url, name, target, checkpoint = sys.argv[1:]
session = SparkSession.builder.remote(remote).getOrCreate()
assert "connect" in type(session).__module__
reader = session.read.format("nats").options(servers=url, stream=name)
whole = list(reader.load().selectExpr("count(*)", "sum(sequence)").first())
few = reader.option("filterPushdown", "true").load().where("sequence > 90")
few.select("data").write.format("nats").mode("append").options(
    servers=url, subject=target + ".x"
).save()
try:
    reader.option("columns", "offset").load().count()
except PySparkException as error:
    said = str(error)
stream = session.readStream.format("nats").options(servers=url, stream=name)
query = (
    stream.option("startingOffsets", "earliest").load().select("data")
    .writeStream.format("nats").options(servers=url, subject=target + ".y")
    .option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
)
query.awaitTermination()
print(json.dumps([whole, few.count(), said[said.index("subject, seq") :][:17]]))
"""


@pytest.mark.once
def test_the_format_is_found_by_spark_connect(session, store, tmp_path):
    """In a process of its own, as a process has one kind of session."""
    pytest.importorskip("grpc")
    port = session.conf.get("spark.connect.grpc.binding.port")
    name, target = store.stream(100), store.stream()
    words = [f"sc://127.0.0.1:{port}", store.url, name, target, str(tmp_path / "checkpoint")]
    done = subprocess.run(
        [sys.executable, "-c", CONNECTED, *words],
        check=False, capture_output=True, text=True, cwd=tmp_path,
    )  # fmt: skip

    assert 0 == done.returncode, done.stderr
    assert [[100, 5050], 10, "subject, sequence"] == json.loads(done.stdout.splitlines()[-1])
    assert 110 == store.ask(f"STREAM.INFO.{target}")["state"]["messages"]
