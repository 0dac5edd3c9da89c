"""Versions that peers and clients are told."""

from __future__ import annotations

from typing import Final

NATS_VERSION: Final = "2.15.2"
"""The nats-server whose behaviour this is; clients switch features on by it."""

CLIENT_PROTOCOL: Final = 1
"""`proto` in the INFO of clients: they may be sent INFO at any time."""

JETSTREAM_API_LEVEL: Final = 5
"""`api_lvl` in the INFO of clients, of servers as well that have JetStream turned off.

Source: nats-server `jetstream_versioning.go`, `JSApiLevel`.
"""

ROUTE_PROTOCOL: Final = 3
"""`proto` in the INFO of routes.

Source: nats-server `server.go`, `MsgTraceProto`.
"""
