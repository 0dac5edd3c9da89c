"""The public test kit: servers, clients and peers as fixtures.

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
from framework.testing.route_peer import RoutePeer
from framework.testing.routes import (
    await_answer,
    await_pools,
    await_routes,
    member_config,
    route_rows,
)
from framework.testing.server_process import ServerProcess
from framework.testing.tcp_proxy import TcpProxy
from framework.testing.watched_process import WatchedProcess

__all__ = [
    "OURS",
    "ConnectionEndedError",
    "Fleet",
    "NatsCli",
    "Operation",
    "PeerMissingError",
    "RawClient",
    "RoutePeer",
    "ServerFailedError",
    "ServerProcess",
    "TcpProxy",
    "TestingError",
    "WatchedProcess",
    "await_answer",
    "await_mesh",
    "await_pools",
    "await_routes",
    "check_exchange",
    "free_port",
    "member_config",
    "route_rows",
]
