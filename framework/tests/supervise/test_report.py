"""Status lines: what a server says, and what a broken one may say."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.supervise.report import LineSplitter, StatusReport, report_from_line
from framework.tests.supervise.shown_sections import MESH


def test_a_line_of_a_server_becomes_a_report() -> None:
    line = json.dumps(
        {"name": "a", "pid": 7, "ready": True, "client": "127.0.0.1:4222"}
        | {"connections": 3, "in_msgs": 5, "in_bytes": 50, "news": [1]}
    )

    expected = StatusReport(
        pid=7, ready=True, client="127.0.0.1:4222", connections=3, in_msgs=5, in_bytes=50
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


def test_sections_of_plugins_are_read_as_they_arrive() -> None:
    said = {"address": "h:1", "routes": 2, "peers": [["\x1b[2Jb", "3/3", 7]]}
    report = report_from_line(json.dumps({"mesh": said, "sections": 1}).encode(), [MESH])

    assert report is not None
    assert (report.cell("cluster"), report.cell("routes"), report.cell("?")) == ("h:1", 2, "")
    assert report.sections["mesh"].lines[0].cells == (" [2Jb", "3/3")


@pytest.mark.parametrize("said", [None, 7, {}, {"address": "h:1", "routes": "x"}])
def test_what_a_plugin_makes_no_sense_of_is_left_out(said: object) -> None:
    report = report_from_line(json.dumps({"ready": True, "mesh": said}).encode(), [MESH])

    assert report == StatusReport(ready=True)


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
