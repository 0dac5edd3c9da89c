"""Rows of a write as bytes: the short way and the long one make the same."""

from __future__ import annotations

import pytest
from pyspark_nats.errors import NatsSourceError
from pyspark_nats.frames import Frames
from pyspark_nats.messages import MessageMaker

pa = pytest.importorskip("pyarrow", reason="needs pyarrow: ./dev test -e spark")


def wires(columns, *, subject="a.b", stream="", prefix="k/0/0/", reply="_INBOX.x."):
    batch = pa.RecordBatch.from_pydict(columns)
    return list(MessageMaker(subject, stream, prefix, reply).wires(batch, 7))


@pytest.mark.parametrize("stream", ["", "S"])
def test_rows_of_data_alone_are_the_same_by_both_ways(stream):
    data = pa.array([b"one", b"", None, b"a\r\nb"], pa.binary())
    nothing = pa.nulls(4, pa.string())

    assert wires({"data": data, "msg_id": nothing}, stream=stream) == wires(
        {"data": data}, stream=stream
    )


def test_a_server_reads_what_was_meant():
    numbers, made = zip(*wires({"data": ["é", "x" * 1000]}, stream="S"), strict=True)
    # What a server hands on looks as what a client sends, but for the subscription's id.
    line = made[0].replace(b"HPUB a.b ", b"HMSG a.b 1 ")
    [frame] = Frames().feed(line)

    assert (7, 8) == numbers
    assert b"NATS/1.0\r\nNats-Expected-Stream: S\r\nNats-Msg-Id: k/0/0/7\r\n\r\n" == frame.headers
    assert ("é".encode(), b"_INBOX.x.7", b"a.b") == (frame.payload, frame.reply, frame.subject)


def test_rows_without_ids_are_plain():
    assert [(7, b"PUB a.b _INBOX.x.7 2\r\nhi\r\n")] == wires({"data": ["hi"]}, prefix="")
    assert [(7, b"PUB a.b 2\r\nhi\r\n")] == wires({"data": ["hi"]}, prefix="", reply="")


@pytest.mark.parametrize("subject", ["", "a b", "a..b", ".a", "a.*", ">", "a\r\nPUB x 0"])
def test_a_subject_that_is_none_is_refused(subject):
    with pytest.raises(NatsSourceError, match="row 7"):
        wires({"subject": [subject], "data": ["x"]})


@pytest.mark.parametrize("header", [("A b", "x"), ("A", "x\r\nB: y"), ("", "x"), ("A:", "x")])
def test_a_header_that_is_none_is_refused(header):
    name, value = header
    headers = pa.array([[(name, [value])]], pa.map_(pa.string(), pa.list_(pa.string())))

    with pytest.raises(NatsSourceError, match="header"):
        wires({"data": ["x"], "headers": headers})
