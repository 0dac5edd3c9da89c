from __future__ import annotations

import json
import re

import pytest

from framework.server.logging.log_line import (
    DEBUG,
    ERROR,
    FATAL,
    INFO,
    TRACE,
    WARNING,
    LineFormat,
    escaped,
)

NOW_NS = 1_581_523_492_369_039_999
LINE = re.compile(
    r"^\[\d+\] \d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{6} \[(INF|DBG|TRC|WRN|ERR|FTL)\] .*\n$"
)


def line(event: str, level: int = INFO, **fields: object) -> str:
    return LineFormat(pid=7, utc=True).line(NOW_NS, level, event, fields)


def test_line_is_as_nats_server_writes_it() -> None:
    expected = "[7] 2020/02/12 16:04:52.369039 [INF] Server is ready\n"

    assert line("Server is ready") == expected


@pytest.mark.parametrize("level", [TRACE, DEBUG, INFO, WARNING, ERROR, FATAL])
def test_every_level_has_its_label(level: int) -> None:
    assert LINE.match(line("hello", level))


def test_connections_begin_the_line() -> None:
    text = line(
        "Client connection closed: {reason}",
        DEBUG,
        cid=9,
        remote="127.0.0.1:40",
        client="v1:python:me",
        login="$G/user:joe",
        reason="Client Closed",
    )

    assert text.endswith(
        '[DBG] 127.0.0.1:40 - cid:9 - "v1:python:me" - "$G/user:joe" - '
        "Client connection closed: Client Closed\n"
    )


def test_fields_without_a_place_follow() -> None:
    assert line("Tap {component} failed", component="audit", count=3).endswith(
        "Tap audit failed count=3\n"
    )


def test_a_placeholder_without_its_field_stays() -> None:
    assert line("{missing} and {there}", there="x").endswith("{missing} and x\n")


def test_values_are_not_filled_twice() -> None:
    assert line("{detail} {name}", detail="{name}", name="n").endswith("{name} n\n")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b"PUB \xff\r\n", r"PUB \xff\r\n"),
        ("a\nb\x1b[31m", r"a\nb\x1b[31m"),
        ("\u202e", r"\u202e"),
        ("caf\u00e9", "caf\u00e9"),
        ("\ud800", r"\ud800"),
        (12, "12"),
    ],
)
def test_what_a_peer_chose_cannot_break_a_line(value: object, expected: str) -> None:
    assert escaped(value) == expected


def test_long_values_are_cut() -> None:
    assert len(escaped("x" * 100_000)) == 1_024
    assert len(escaped(b"x" * 100_000)) == 1_024


def test_without_time() -> None:
    text = LineFormat(pid=7, with_time=False).line(NOW_NS, INFO, "hello", {})

    assert text == "[7] [INF] hello\n"


def test_json() -> None:
    text = LineFormat(pid=7, utc=True, json=True).line(
        NOW_NS, ERROR, "{detail} came", {"detail": b"\xff", "cid": 4}
    )

    assert json.loads(text) == {
        "time": "2020/02/12 16:04:52.369039",
        "pid": 7,
        "level": "error",
        "event": "\\xff came",
        "detail": "\\xff",
        "cid": 4,
    }
    assert text.endswith("}\n")
