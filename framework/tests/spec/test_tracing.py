from __future__ import annotations

from typing import Any

import pytest
from structlog.testing import CapturingLogger

from framework.dataplane import LinkKind, Traced
from framework.spec.tracing import TRACE_LEVEL, log_traced


def shown(text: bytes, *, inbound: bool = True) -> tuple[str, str]:
    log: Any = CapturingLogger()
    log_traced(log, Traced(1, LinkKind.CLIENT, inbound, text))
    (call,) = log.calls

    assert call.args[0] == TRACE_LEVEL
    return call.args[1], call.kwargs["detail"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"PUB foo 5", "PUB foo 5"),
        (b"sub  a.b 1", "SUB  a.b 1"),
        (b"ping", "PING"),
        (b"RS+ $G foo bar 2", "RS+ $G foo bar 2"),
        (b"+OK", "OK"),
        (b"-ERR 'Invalid Subject'", "-ERR Invalid Subject"),
        (b"get / HTTP/1.1", "get / HTTP/1.1"),
        (b"SUB \xff\x00 1", "SUB \\xff\x00 1"),
    ],
)
def test_lines_read_as_nats_servers(text: bytes, expected: str) -> None:
    assert shown(text) == ("<<- [{detail}]", expected)


def test_lines_that_go_out_have_another_arrow() -> None:
    assert shown(b"MSG foo 1 5", inbound=False) == ("->> [{detail}]", "MSG foo 1 5")


def test_an_error_that_comes_in_pieces_is_one_line() -> None:
    log: Any = CapturingLogger()
    for piece in (b"-ERR '", b"Invalid Subject", b"'", b"-ERR 'Whole'"):
        log_traced(log, Traced(1, LinkKind.CLIENT, inbound=False, text=piece))

    assert [it.kwargs["detail"] for it in log.calls] == ["-ERR Invalid Subject", "-ERR Whole"]


@pytest.mark.parametrize(
    "secret",
    [
        b'"pass":"geheim"',
        b'"PASS" : "geheim"',
        b'"password":"ge\\"heim"',
        b'"auth_token":"geheim"',
        b'"jwt":"geheim"',
        b'"sig":"geheim"',
        b'"pass":geheim',
    ],
)
def test_secrets_are_left_out(secret: bytes) -> None:
    line = b'CONNECT {"user":"me",' + secret + b',"name":"n"}'
    for end in range(len(line)):
        _, text = shown(line[:end])
        assert "eheim" not in text
        assert "ge" not in text

    assert '"[REDACTED]","name":"n"}' in shown(line)[1]
