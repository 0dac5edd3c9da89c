"""Reasons of closed connections, in nats-server's words."""

from __future__ import annotations

from enum import IntEnum


class ClosedState(IntEnum):
    """Reason of a closed connection; `text` is what `/connz` shows.

    Source: nats-server `monitor.go`, `ClosedState.String`.
    """

    CLIENT_CLOSED = 1
    AUTHENTICATION_TIMEOUT = 2
    AUTHENTICATION_VIOLATION = 3
    TLS_HANDSHAKE_ERROR = 4
    SLOW_CONSUMER_PENDING_BYTES = 5
    SLOW_CONSUMER_WRITE_DEADLINE = 6
    WRITE_ERROR = 7
    READ_ERROR = 8
    PARSE_ERROR = 9
    STALE_CONNECTION = 10
    PROTOCOL_VIOLATION = 11
    BAD_CLIENT_PROTOCOL_VERSION = 12
    WRONG_PORT = 13
    MAX_ACCOUNT_CONNECTIONS_EXCEEDED = 14
    MAX_CONNECTIONS_EXCEEDED = 15
    MAX_PAYLOAD_EXCEEDED = 16
    MAX_CONTROL_LINE_EXCEEDED = 17
    MAX_SUBSCRIPTIONS_EXCEEDED = 18
    DUPLICATE_ROUTE = 19
    ROUTE_REMOVED = 20
    SERVER_SHUTDOWN = 21
    AUTHENTICATION_EXPIRED = 22
    WRONG_GATEWAY = 23
    MISSING_ACCOUNT = 24
    REVOCATION = 25
    INTERNAL_CLIENT = 26
    MSG_HEADER_VIOLATION = 27
    NO_RESPONDERS_REQUIRES_HEADERS = 28
    CLUSTER_NAME_CONFLICT = 29
    DUPLICATE_REMOTE_LEAFNODE_CONNECTION = 30
    DUPLICATE_CLIENT_ID = 31
    DUPLICATE_SERVER_NAME = 32
    MINIMUM_VERSION_REQUIRED = 33
    CLUSTER_NAMES_IDENTICAL = 34
    KICKED = 35

    @property
    def text(self) -> str:
        """Return nats-server's wording."""
        return _TEXTS.get(self) or self.name.replace("_", " ").title()


_TEXTS = {
    ClosedState.AUTHENTICATION_VIOLATION: "Authentication Failure",
    ClosedState.TLS_HANDSHAKE_ERROR: "TLS Handshake Failure",
    ClosedState.SLOW_CONSUMER_PENDING_BYTES: "Slow Consumer (Pending Bytes)",
    ClosedState.SLOW_CONSUMER_WRITE_DEADLINE: "Slow Consumer (Write Deadline)",
    ClosedState.BAD_CLIENT_PROTOCOL_VERSION: "Bad Client Protocol Version",
    ClosedState.WRONG_PORT: "Incorrect Port",
    ClosedState.MAX_ACCOUNT_CONNECTIONS_EXCEEDED: "Maximum Account Connections Exceeded",
    ClosedState.MAX_CONNECTIONS_EXCEEDED: "Maximum Connections Exceeded",
    ClosedState.MAX_PAYLOAD_EXCEEDED: "Maximum Message Payload Exceeded",
    ClosedState.MAX_CONTROL_LINE_EXCEEDED: "Maximum Control Line Exceeded",
    ClosedState.MAX_SUBSCRIPTIONS_EXCEEDED: "Maximum Subscriptions Exceeded",
    ClosedState.MISSING_ACCOUNT: "Missing Account",
    ClosedState.REVOCATION: "Credentials Revoked",
    ClosedState.MSG_HEADER_VIOLATION: "Message Header Violation",
    ClosedState.NO_RESPONDERS_REQUIRES_HEADERS: "No Responders Requires Headers",
    ClosedState.DUPLICATE_REMOTE_LEAFNODE_CONNECTION: "Duplicate Remote LeafNode Connection",
    ClosedState.DUPLICATE_CLIENT_ID: "Duplicate Client ID",
    ClosedState.CLUSTER_NAMES_IDENTICAL: "Cluster Names Identical",
}
