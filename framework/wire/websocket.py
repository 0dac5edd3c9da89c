"""WebSocket as NATS servers speak it: words of its handshake, and of close frames.

Source: RFC 6455 4, RFC 7692 7.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from framework.wire.closed_state import ClosedState

if TYPE_CHECKING:
    from collections.abc import Mapping

GOING_AWAY: Final = 1001
PROTOCOL_ERROR: Final = 1002
POLICY_VIOLATION: Final = 1008
MESSAGE_TOO_BIG: Final = 1009
INTERNAL_ERROR: Final = 1011

_STATUS: Final[Mapping[ClosedState, int]] = {
    ClosedState.CLIENT_CLOSED: 1000,
    ClosedState.WRITE_ERROR: GOING_AWAY,
    ClosedState.READ_ERROR: GOING_AWAY,
    ClosedState.STALE_CONNECTION: GOING_AWAY,
    ClosedState.SERVER_SHUTDOWN: GOING_AWAY,
    ClosedState.PARSE_ERROR: PROTOCOL_ERROR,
    ClosedState.PROTOCOL_VIOLATION: PROTOCOL_ERROR,
    ClosedState.BAD_CLIENT_PROTOCOL_VERSION: PROTOCOL_ERROR,
    ClosedState.AUTHENTICATION_TIMEOUT: POLICY_VIOLATION,
    ClosedState.AUTHENTICATION_VIOLATION: POLICY_VIOLATION,
    ClosedState.SLOW_CONSUMER_PENDING_BYTES: POLICY_VIOLATION,
    ClosedState.SLOW_CONSUMER_WRITE_DEADLINE: POLICY_VIOLATION,
    ClosedState.MAX_ACCOUNT_CONNECTIONS_EXCEEDED: POLICY_VIOLATION,
    ClosedState.MAX_CONNECTIONS_EXCEEDED: POLICY_VIOLATION,
    ClosedState.MAX_CONTROL_LINE_EXCEEDED: POLICY_VIOLATION,
    ClosedState.MAX_SUBSCRIPTIONS_EXCEEDED: POLICY_VIOLATION,
    ClosedState.MISSING_ACCOUNT: POLICY_VIOLATION,
    ClosedState.AUTHENTICATION_EXPIRED: POLICY_VIOLATION,
    ClosedState.REVOCATION: POLICY_VIOLATION,
    ClosedState.TLS_HANDSHAKE_ERROR: 1015,
    ClosedState.MAX_PAYLOAD_EXCEEDED: MESSAGE_TOO_BIG,
}


DEFLATE: Final = "permessage-deflate"
DEFLATE_TERMS: Final = f"{DEFLATE}; server_no_context_takeover; client_no_context_takeover"
"""The only ones on which messages are compressed, asked for and granted."""
NO_MASKING: Final = "Nats-No-Masking"
"""Header by which who dials asks not to mask its frames, and the other one lets it: `true`."""
_GUID: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def accept_key(key: str) -> str:
    """Return what a server answers to the key of an upgrade."""
    import base64  # noqa: PLC0415 - for who speaks WebSocket
    import hashlib  # noqa: PLC0415 - the same

    return base64.b64encode(hashlib.sha1(key.encode() + _GUID).digest()).decode()  # noqa: S324


def close_status(reason: ClosedState) -> int:
    """Return what a close frame says.

    Source: nats-server `websocket.go`, `wsEnqueueCloseMessage`.
    """
    return _STATUS.get(reason, INTERNAL_ERROR)
