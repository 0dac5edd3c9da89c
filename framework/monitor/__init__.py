"""The monitoring port: nats-server's endpoints over what the plane and the actors know."""

from __future__ import annotations

from framework.monitor.endpoints import core_endpoints
from framework.monitor.request_options import answer_query, answer_request, members_of_payload
from framework.monitor.source import (
    ClosedClient,
    MonitorSource,
    ProcessUsage,
    ServerFacts,
)
from framework.monitor.turns import Turns

__all__ = [
    "ClosedClient",
    "MonitorSource",
    "ProcessUsage",
    "ServerFacts",
    "Turns",
    "answer_query",
    "answer_request",
    "core_endpoints",
    "members_of_payload",
]
