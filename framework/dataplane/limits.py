"""Limits that peers can run into, with nats-server's defaults."""

from __future__ import annotations

from msgspec import Struct


class PlaneLimits(Struct, frozen=True):
    """Limits of one plane; each field is nats-server's option of that name.

    Source: nats-server `const.go`.
    """

    max_payload: int = 1_048_576
    """Bytes of headers and payload of one message; negative: as many as 31 bits can say."""
    max_control_line: int = 4_096
    """Bytes of one protocol line of a client.

    At most 128 KiB, which other servers may send; of a CONNECT 1 MiB.
    """
    max_pending: int = 64 * 1024 * 1024
    """Bytes that may wait for one client before it is cut off as a slow consumer."""
    max_connections: int = 65_536
    """Clients at a time; 0: unlimited; negative: nobody."""
    max_subscriptions: int = 0
    """Subscriptions of one client; 0: unlimited."""
    ping_interval_s: float = 120.0
    ping_max: int = 2
    write_deadline_s: float = 10.0
    auth_timeout_s: float = 2.0
    max_subscription_tokens: int = 0
    """Tokens of a client's subscription; 0: unlimited."""
    max_traced_bytes: int = 1_024
    """Of headers and payload of one traced message; more is cut."""
    fast_producer_stall: bool = True
    """Clients wait a little while what they publish to is far behind."""
    auth_required: bool = False
    """Clients may do nothing before their CONNECT was accepted."""
    lets_anybody_in: bool = False
    """A client that must log in, and begins without CONNECT, is asked about instead of refused."""
