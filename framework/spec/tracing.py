"""Log lines of traced protocol lines, for the owner of a kind of connection."""

from __future__ import annotations

import re
from typing import Final

from framework.dataplane.event import Traced
from framework.spec.formats import quoted
from framework.spec.logger import FilteringBoundLogger

TRACE_LEVEL: Final = 5
"""Level of these lines, below the standard library's DEBUG."""

_ARROW_IN: Final = "<<- [{detail}]"
_ARROW_OUT: Final = "->> [{detail}]"
_ARROW_BOTH: Final = "<-> [{detail}]"
_BODY_IN: Final = "<<- MSG_PAYLOAD: [{detail}]"
_BODY_OUT: Final = "->> MSG_PAYLOAD: [{detail}]"
_ENDED: Final = "DELSUB "
"""What the plane says of a subscription that ended; no server says such a line."""
_CREDENTIALS: Final = (
    r"""(?i)("(?:pass|auth_token|jwt|sig)[^"]*"\s*:\s*)(?:"(?:[^"\\]|\\.)*(?:"|\\?$)|[^\s",}]+)"""
)
"""A member of a JSON object that lets who knows it log in; the line may end within it."""
_PIECES: Final = frozenset({"-ERR '", "'"})
"""The plane writes these lines piece by piece, and traces what it writes."""
_VERBS: Final = frozenset({
    *("CONNECT", "INFO", "PING", "PONG", "SUB", "UNSUB", "PUB", "HPUB", "MSG", "HMSG"),
    "MAPPING",
    *("RS+", "RS-", "RMSG", "LS+", "LS-", "LMSG", "A+", "A-"),
})


def log_traced(log: FilteringBoundLogger, traced: Traced) -> None:
    """Log what the plane has traced as nats-server does, without the secrets of CONNECT.

    Args:
        log: Names the connection in each line.
        traced: What the owner of its connection was told.

    Source: nats-server `client.go`, `traceOp`, `traceMsgInternal`.
    """
    if traced.body_bytes:
        more = "..." if traced.body_bytes > len(traced.text) else ""
        arrow = _BODY_IN if traced.inbound else _BODY_OUT
        log.log(TRACE_LEVEL, arrow, detail=quoted(traced.text, more=more))
        return
    text = traced.text.decode("utf-8", "backslashreplace")
    if traced.inbound:
        log.log(TRACE_LEVEL, _ARROW_IN, detail=_shown(text) or _redacted(text))
    elif text.startswith(_ENDED):
        log.log(TRACE_LEVEL, _ARROW_BOTH, detail=text)
    elif text not in _PIECES:
        # What is no line of its own is the text of an error.
        log.log(TRACE_LEVEL, _ARROW_OUT, detail=_shown(text) or f"-ERR {text}")


def _shown(line: str) -> str:
    """Return a line as it is shown; empty when it begins with no verb."""
    verb, space, rest = line.partition(" ")
    name = verb.upper()
    match name:
        case "+OK":
            return "OK"
        case "-ERR":
            return "-ERR " + rest.strip("'")
        case _ if name in _VERBS:
            return _redacted(name + space + rest)
        case _:
            return ""


def _redacted(line: str) -> str:
    return re.sub(_CREDENTIALS, r'\1"[REDACTED]"', line) if "{" in line else line
