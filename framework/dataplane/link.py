"""Links: kinds of connections, and their state as a row."""

from __future__ import annotations

from enum import IntEnum
from typing import TypeAlias

from msgspec import Struct

LinkId: TypeAlias = int
"""Slot in the low 32 bits, generation in the high ones; never reused."""


class LinkKind(IntEnum):
    """Kind of connection, as nats-server's `client.go` has them."""

    CLIENT = 0
    ROUTE = 1
    GATEWAY = 2
    LEAF = 3


class LinkRow(Struct, frozen=True):
    """State of one link at the moment of the question."""

    link: LinkId
    kind: LinkKind
    cid: int
    """Counts connections of all kinds from 1; what clients see as `client_id`."""
    host: str
    port: int
    opened_ns: int
    """Monotonic."""
    last_activity_ns: int
    """Monotonic."""
    rtt_ns: int
    """Of the last PING that was answered; 0 when none was."""
    pending_bytes: int
    in_msgs: int
    in_bytes: int
    out_msgs: int
    out_bytes: int
    subscriptions: int
    stalls: int
    wire_in_bytes: int = 0
    """What the plane has read of the link, greetings and S2 and all.

    Of a link with TLS, or with a codec beside the plane, it reads plain bytes: those are counted.
    """
    wire_out_bytes: int = 0
    """What the plane has written, in the same way."""


class SubscriptionRow(Struct, frozen=True):
    """One subscription of a client, or the interest of one remote server."""

    link: LinkId
    account: int
    subject: bytes
    queue: bytes
    """Empty when it is no queue subscription."""
    sid: bytes
    msgs: int
    """Delivered so far."""
    max_msgs: int
    """From UNSUB; 0: no maximum."""
    weight: int
    """Members that a remote queue interest stands for; 1 otherwise."""
