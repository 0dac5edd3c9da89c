"""Servers, streams, consumers, events and taps as tables."""

from __future__ import annotations

import pytest

errors = pytest.importorskip("pyspark.errors", reason="needs pyspark: ./dev test -e spark")

pytestmark = pytest.mark.both

ACCOUNTS = """
server_name: "it"
system_account: "SYS"
accounts {
  SYS { users: [ { user: "sys", password: "x" } ] }
  A { jetstream: enabled, users: [ { user: "ann", password: "x" } ] }
}
"""
ANN, SYS = {"user": "ann", "password": "x"}, {"user": "sys", "password": "x"}


@pytest.fixture(scope="module")
def servers(start_store):
    return start_store(ACCOUNTS, user="ann", password="x")


def view(session, store, name, **options):
    return session.read.format("nats").options(servers=store.url, view=name, **options).load()


def test_servers_and_their_connections(session, servers):
    [varz] = view(session, servers, "varz", **SYS).collect()
    connz = view(session, servers, "connz", **SYS).where("user = 'sys'").first()
    accounts = view(session, servers, "accounts", **SYS).collect()
    [jsz] = view(session, servers, "jsz", **SYS).collect()

    assert ("it", "it", "it") == (varz.server, connz.server, jsz.server)
    assert varz.connections >= 1
    assert varz.start < varz.observed
    assert ("SYS", "python-spark") == (connz.account, connz.lang)
    assert {"A", "SYS"} <= {row.account for row in accounts}
    assert jsz.streams == len(servers.ask("STREAM.NAMES").get("streams") or ())
    assert '"server_name"' in varz.json


def test_streams_and_the_lag_of_consumers(session, servers):
    stream, other = servers.stream(10), servers.stream()
    config = {"name": "late", "durable_name": "late", "ack_policy": "explicit"}
    body = {"stream_name": stream, "config": config}
    servers.ask(f"CONSUMER.CREATE.{stream}.late", body)
    streams = {row.stream: row for row in view(session, servers, "streams", **ANN).collect()}
    [late] = view(session, servers, "consumers", stream=stream, **ANN).collect()

    assert (10, 10, 0) == (
        streams[stream].messages, streams[stream].last_seq, streams[other].messages
    )  # fmt: skip
    assert (stream, "late", 10, 0) == (late.stream, late.consumer, late.lag, late.ack_pending)
    assert ("late",) == tuple(
        row.consumer for row in view(session, servers, "consumers", **ANN).collect()
    )


def test_a_view_is_asked_again_for_each_batch(session, servers, tmp_path):
    stream = servers.stream(3)
    reader = session.readStream.format("nats").options(servers=servers.url, view="streams", **ANN)
    found = []

    def take(batch, number):
        found.append([row.messages for row in batch.where(f"stream = '{stream}'").collect()])
        if number == 0:
            servers.fill(stream, range(2))

    query = (
        reader
        .load()
        .writeStream.foreachBatch(take)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .start()
    )
    try:
        while len(found) < 2:
            query.awaitTermination(0.1)
    finally:
        query.stop()

    assert [[3], [5]] == found[:2]


@pytest.mark.once
def test_who_may_not_ask_is_told(session, servers):
    with pytest.raises(errors.PySparkException, match="system account"):
        view(session, servers, "varz", requestTimeout="1s", **ANN).collect()
    with pytest.raises(errors.PySparkException, match="messages, tap, varz"):
        view(session, servers, "everything", **ANN)
    with pytest.raises(errors.PySparkException, match="it is of all there is"):
        view(session, servers, "varz", stream="S", **SYS)


def test_advisories_of_a_stream(session, servers):
    kept = servers.stream(subjects=["$JS.EVENT.ADVISORY.>"])
    stream = servers.stream()
    servers.ask(f"STREAM.DELETE.{stream}")
    rows = view(session, servers, "advisories", stream=kept, **ANN).orderBy("sequence").collect()

    actions = [(row.of_stream, row.action) for row in rows if row.of_stream == stream]
    assert [(stream, "create"), (stream, "delete")] == actions
    assert "io.nats.jetstream.advisory.v1.stream_action" in {row.type for row in rows}


@pytest.mark.once
def test_messages_that_are_no_json_are_rows_all_the_same(session, servers):
    stream = servers.stream(2)
    rows = view(session, servers, "events", stream=stream, **ANN).collect()

    assert [("message 1", None), ("message 2", None)] == [(row.json, row.type) for row in rows]


TAP = """
tap { rules { shop { subjects: ["orders.*"], latency: true, storage: memory } } }
"""


def test_rows_of_a_tap(session, tap_store):
    """The whole way: published, recorded by the server, kept by its stream, read by Spark."""
    store = tap_store(TAP)
    with store.api() as api:
        connection = api.connection
        sid = connection.subscribe("orders.ask")
        reply = f"{connection.inbox}.1"
        lines = [f"PUB orders.{it % 3} 5\r\nhello\r\n" for it in range(300)]
        connection.send("".join([*lines, f"PUB orders.ask {reply} 0\r\n\r\n"]).encode())
        connection.send(f"PUB {connection.next_message(10).reply.decode()} 2\r\nyo\r\n".encode())
        while len(rows := tap_rows(session, store)) < 302:
            pass

    assert sid
    assert {"orders.0": 100, "orders.1": 100, "orders.2": 100, "orders.ask": 1} == {
        subject: sum(row.subject == subject for row in rows)
        for subject in ("orders.0", "orders.1", "orders.2", "orders.ask")
    }
    [answer] = [row for row in rows if row.latency_ns is not None]
    assert ("orders.ask", reply, 2) == (answer.request_subject, answer.subject, answer.size)
    plain = [row for row in rows if row.latency_ns is None]
    assert {"hello", ""} == {bytes(row.data).decode() for row in plain}
    assert {("$G", "TAP_shop")} == {(row.account, row.stream) for row in rows}
    assert all(abs((row.timestamp - rows[0].timestamp).total_seconds()) < 60 for row in rows)


def tap_rows(session, store):
    try:
        return view(session, store, "tap", stream="TAP_shop").collect()
    except errors.PySparkException as error:
        if "there is no stream" not in str(error):
            raise
        return []


@pytest.mark.once
def test_messages_that_are_no_frames_are_told(session, store):
    stream = store.stream(2)

    with pytest.raises(errors.PySparkException, match="message 1 is no frame of a tap"):
        view(session, store, "tap", stream=stream).collect()
    with pytest.raises(errors.PySparkException, match="a filter on the column"):
        view(session, store, "tap", stream=stream, subject="orders.*")
