"""Public test kit: what the framework is tested with, plugins are tested with.

The fixtures stand in `framework.testing.pytest_plugin`, which pytest loads by itself.
"""

from __future__ import annotations

from framework.testing.client import Operation, RawClient
from framework.testing.errors import (
    ConnectionEndedError,
    PeerMissingError,
    ServerFailedError,
    TestingError,
)
from framework.testing.exchange import check_exchange
from framework.testing.fleet import OURS, Fleet, await_mesh, free_port
from framework.testing.nats_cli import NatsCli
from framework.testing.server_process import ServerProcess
from framework.testing.watched_process import WatchedProcess

__all__ = [
    "OURS",
    "ConnectionEndedError",
    "Fleet",
    "NatsCli",
    "Operation",
    "PeerMissingError",
    "RawClient",
    "ServerFailedError",
    "ServerProcess",
    "TestingError",
    "WatchedProcess",
    "await_mesh",
    "check_exchange",
    "free_port",
]
