"""Log lines of closed connections, for the owner of a kind of connection."""

from __future__ import annotations

from typing import Final

from framework.dataplane.event import Closed
from framework.spec.logger import FilteringBoundLogger
from framework.wire.closed_state import ClosedState

_DEBUG: Final = {
    ClosedState.AUTHENTICATION_TIMEOUT: "Authentication Timeout",
    ClosedState.AUTHENTICATION_EXPIRED: "User Authentication Expired",
    ClosedState.REVOCATION: "User Authentication Revoked",
    ClosedState.STALE_CONNECTION: "Stale Client Connection - Closing",
}
_INFO: Final = {
    ClosedState.SLOW_CONSUMER_PENDING_BYTES: "Slow Consumer Detected: MaxPending Exceeded",
    ClosedState.SLOW_CONSUMER_WRITE_DEADLINE: "Slow Consumer Detected: WriteDeadline exceeded",
}
_ERROR: Final = {
    ClosedState.MAX_ACCOUNT_CONNECTIONS_EXCEEDED: "maximum account active connections exceeded",
    ClosedState.MAX_CONNECTIONS_EXCEEDED: "maximum connections exceeded",
    ClosedState.MAX_CONTROL_LINE_EXCEEDED: "maximum control line exceeded",
    ClosedState.MAX_PAYLOAD_EXCEEDED: "maximum payload exceeded",
}
_QUIET: Final = frozenset({
    ClosedState.CLIENT_CLOSED,
    ClosedState.READ_ERROR,
    ClosedState.WRITE_ERROR,
    ClosedState.SERVER_SHUTDOWN,
})
"""Ends that are nobody's fault, or the network's."""


def log_ending(log: FilteringBoundLogger, closed: Closed) -> None:
    """Log the reason of a closed connection as nats-server does.

    Args:
        log: Names the connection in each line.
        closed: What the owner of the connection was told.

    Source: nats-server `client.go`, `readLoop`, `markConnAsClosed`; `parser.go`, `parse`.
    """
    reason, kind = closed.reason, closed.kind.names.title
    if reason in _DEBUG:
        log.debug(_DEBUG[reason])
    elif reason in _INFO:
        log.info(_INFO[reason])
    elif reason in _ERROR:
        log.error(_ERROR[reason])
    elif not closed.detail:
        return
    elif reason is ClosedState.READ_ERROR:  # what came could not be read as what it should be
        log.error("{detail}", detail=closed.detail)
    elif reason in _QUIET:
        return
    elif reason is ClosedState.PARSE_ERROR:
        log.error("{kind} Error", kind=kind)  # the peer's own
    else:
        log.error("{kind} parser ERROR: {detail}", kind=kind, detail=closed.detail)
