from __future__ import annotations

from typing import Any

import pytest
from structlog.testing import CapturingLogger

from framework.spec import Closed, ClosedState, LinkKind
from framework.spec.endings import log_ending


def shown(
    reason: ClosedState, detail: str = "", kind: LinkKind = LinkKind.CLIENT
) -> list[tuple[str, str]]:
    log: Any = CapturingLogger()
    row: Any = None
    log_ending(log, Closed(1, kind, reason, detail, row, 0))

    return [(call.method_name, call.args[0].format(**call.kwargs)) for call in log.calls]


@pytest.mark.parametrize(
    ("reason", "level", "text"),
    [
        (ClosedState.AUTHENTICATION_TIMEOUT, "debug", "Authentication Timeout"),
        (ClosedState.STALE_CONNECTION, "debug", "Stale Client Connection - Closing"),
        (
            ClosedState.SLOW_CONSUMER_PENDING_BYTES,
            "info",
            "Slow Consumer Detected: MaxPending Exceeded",
        ),
        (
            ClosedState.SLOW_CONSUMER_WRITE_DEADLINE,
            "info",
            "Slow Consumer Detected: WriteDeadline exceeded",
        ),
        (ClosedState.MAX_CONNECTIONS_EXCEEDED, "error", "maximum connections exceeded"),
        (ClosedState.MAX_PAYLOAD_EXCEEDED, "error", "maximum payload exceeded"),
        (ClosedState.MAX_CONTROL_LINE_EXCEEDED, "error", "maximum control line exceeded"),
    ],
)
def test_a_reason_has_the_words_of_nats_server(reason: ClosedState, level: str, text: str) -> None:
    assert shown(reason) == [(level, text)]


@pytest.mark.parametrize(
    ("kind", "name"), [(LinkKind.CLIENT, "Client"), (LinkKind.ROUTE, "Router")]
)
def test_what_was_wrong_is_told(kind: LinkKind, name: str) -> None:
    violation = ClosedState.PROTOCOL_VIOLATION

    assert shown(violation, "FROB", kind) == [("error", f"{name} parser ERROR: FROB")]
    assert shown(ClosedState.PARSE_ERROR, "any", kind) == [("error", f"{name} Error")]


@pytest.mark.parametrize(
    "reason",
    [
        ClosedState.CLIENT_CLOSED,
        ClosedState.WRITE_ERROR,
        ClosedState.SERVER_SHUTDOWN,
    ],
)
def test_nobodys_fault_is_not_told(reason: ClosedState) -> None:
    assert shown(reason, "reset by peer") == []
    assert shown(ClosedState.READ_ERROR) == []


def test_what_could_not_be_decoded_is_told() -> None:
    expected = [("error", "S2: bad checksum")]
    assert shown(ClosedState.READ_ERROR, "S2: bad checksum") == expected


def test_what_the_owner_has_closed_itself_is_not_told_again() -> None:
    assert shown(ClosedState.PROTOCOL_VIOLATION) == []
    assert shown(ClosedState.AUTHENTICATION_VIOLATION) == []
