"""Status lines: what a server says, and what a broken one may say."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.supervise.report import LineSplitter, StatusReport, report_from_line


def test_a_line_of_a_server_becomes_a_report() -> None:
    line = json.dumps(
        {"name": "a", "pid": 7, "ready": True, "client": "127.0.0.1:4222", "cluster": None}
        | {"connections": 3, "routes": 2, "in_msgs": 5, "in_bytes": 50, "news": [1]}
    )

    expected = StatusReport(
        pid=7, ready=True, client="127.0.0.1:4222", connections=3, routes=2, in_msgs=5, in_bytes=50
    )
    assert report_from_line(line.encode()) == expected


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"garbage",
        b"[1, 2]",
        b"\xff\xfe",
        b'{"ready": 1}',
        b'{"pid": true}',
        b'{"connections": "3"}',
        b'{"client": 4222}',
        b"[" * 100_000,
    ],
)
def test_garbage_is_no_report(line: bytes) -> None:
    assert report_from_line(line) is None


@given(st.binary())
def test_no_bytes_upset_the_reader(line: bytes) -> None:
    report_from_line(line)


@given(st.lists(st.binary(max_size=12).map(lambda line: line.replace(b"\n", b"")), max_size=8))
def test_lines_come_out_the_same_however_they_are_cut(lines: list[bytes]) -> None:
    data = b"".join(line + b"\n" for line in lines)
    whole, single = LineSplitter(), LineSplitter()
    at_once = whole.feed(data)
    byte_by_byte = [
        line for index in range(len(data)) for line in single.feed(data[index : index + 1])
    ]

    assert at_once == byte_by_byte
    assert at_once == [line.removesuffix(b"\r") for line in lines]


def test_a_line_without_end_is_cut_once_and_holds_no_memory() -> None:
    splitter = LineSplitter(10)
    lines = [line for _ in range(1_000) for line in splitter.feed(b"x" * 7)]

    assert lines == [b"x" * 10]
    assert splitter.overlong_count == 1
    assert splitter.take_rest() == b""
    assert splitter.feed(b"tail\nnext\n") == [b"next"]


def test_what_a_process_said_last_may_lack_a_line_end() -> None:
    splitter = LineSplitter()
    splitter.feed(b"one\ntwo")

    assert splitter.take_rest() == b"two"
    assert splitter.take_rest() == b""
