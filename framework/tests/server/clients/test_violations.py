from __future__ import annotations

from typing import Any

import pytest
from structlog.testing import CapturingLogger

from framework.server.clients.client_row import Client
from framework.server.clients.violations import log_violated
from framework.spec import LinkKind, Violated, Violation

ENDED_OF_TOKEN = (
    'Removed sub "a.b" using queue "q" (sid "5") for Token "[REDACTED]" - not authorized'
)


def shown(violation: Violation, queue: bytes = b"", label: str = "") -> str:
    log: Any = CapturingLogger()
    client = Client(1, 9, "::1", 7, 0, label=label)
    event = Violated(1, LinkKind.CLIENT, violation, b"a.b", queue, b"5", 0)
    log_violated(log, client, event)
    (call,) = log.calls
    fields = {
        name: value.decode() if isinstance(value, bytes) else value
        for name, value in call.kwargs.items()
    }
    place = f"{fields['cid']} " if "cid" in fields else ""
    return f"{call.method_name}: {place}" + call.args[0].format(**fields)


@pytest.mark.parametrize(
    ("violation", "queue", "line"),
    [
        (Violation.PUBLISH, b"", 'error: 9 Publish Violation - Subject "a.b"'),
        (Violation.REPLY, b"", 'error: 9 Publish Violation - Reply "a.b"'),
        (Violation.SUBSCRIBE, b"", 'error: 9 Subscription Violation - Subject "a.b", SID 5'),
        (
            Violation.SUBSCRIBE,
            b"q",
            'error: 9 Subscription Violation - Subject "a.b", Queue: "q", SID 5',
        ),
        (
            Violation.TOKENS,
            b"q",
            'error: 9 Subscription Violation Too Many Tokens - Subject "a.b", SID 5',
        ),
    ],
)
def test_a_violation_is_logged_in_the_words_of_nats_server(
    violation: Violation, queue: bytes, line: str
) -> None:
    assert shown(violation, queue) == line


@pytest.mark.parametrize(
    ("label", "queue", "line"),
    [
        ("user:joe", b"", 'info: Removed sub "a.b" (sid "5") for User "joe" - not authorized'),
        ("", b"", 'info: Removed sub "a.b" (sid "5") for User "N/A" - not authorized'),
        (
            "token",
            b"q",
            f"info: {ENDED_OF_TOKEN}",
        ),
        ("nkey:UX", b"", 'info: Removed sub "a.b" (sid "5") for Nkey "UX" - not authorized'),
        ("jwt:UX", b"", 'info: Removed sub "a.b" (sid "5") for JWT User "UX" - not authorized'),
    ],
)
def test_a_sub_that_a_reload_has_ended_is_logged(label: str, queue: bytes, line: str) -> None:
    assert shown(Violation.ENDED, queue, label) == line


def test_what_was_not_reported_is_counted() -> None:
    log: Any = CapturingLogger()
    event = Violated(1, LinkKind.CLIENT, Violation.PUBLISH, b"a", b"", b"", 12)
    log_violated(log, Client(1, 9, "::1", 7, 0), event)

    assert log.calls[0].kwargs["missed"] == 12
