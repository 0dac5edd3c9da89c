"""A server of a cluster that says to another one what a test tells it to say."""

from __future__ import annotations

import json
from typing import Any

from framework.testing.client import RawClient
from framework.testing.server_process import ServerProcess

_ID_LENGTH = 56


class RoutePeer(RawClient):
    """One connection to a server's port for routes, from one that claims to be another server.

    Like a server from before 2.10 unless it is told otherwise: no pool, no compression, no headers
    of its own.

    Args:
        server: Whom it connects to.
        name: Of the server that it claims to be.
    """

    def __init__(self, server: ServerProcess, name: str = "PEER") -> None:
        super().__init__(server.cluster_port)
        self.name = name
        self.server_id = f"N{name:A<{_ID_LENGTH - 1}}"

    def connect_line(self, **fields: object) -> bytes:
        """Return its CONNECT, with these fields in place of its own; None leaves one out."""
        document: dict[str, object] = {
            "verbose": False,
            "pedantic": False,
            "echo": True,
            "tls_required": False,
            "headers": True,
            "name": self.server_id,
            "cluster": "test",
            "lnoc": True,
        }
        return _line(b"CONNECT ", document | fields)

    def info_line(self, **fields: object) -> bytes:
        """Return its INFO, with these fields in place of its own; None leaves one out."""
        document: dict[str, object] = {
            "server_id": self.server_id,
            "server_name": self.name,
            "version": "2.9.10",
            "proto": 1,
            "host": "127.0.0.1",
            "port": 1,
            "headers": True,
            "max_payload": 1 << 20,
            "cluster": "test",
            "lnoc": True,
        }
        return _line(b"INFO ", document | fields)

    def gossip_line(self, name: str, port: int) -> bytes:
        """Return an INFO that tells of one more server."""
        return self.info_line(
            server_id=f"N{name:A<{_ID_LENGTH - 1}}",
            server_name=name,
            port=port,
            ip=f"nats-route://127.0.0.1:{port}/",
        )

    def become_route(self, **fields: object) -> dict[str, Any]:
        """Read INFO, introduce itself, and wait until the other server has taken it in.

        Args:
            fields: Of its INFO.

        Returns:
            The other server's INFO.
        """
        self.expect(b"INFO")
        self.send(self.connect_line() + self.info_line(**fields))
        self.flush()
        return self.info


def _line(verb: bytes, document: dict[str, object]) -> bytes:
    fields = {name: value for name, value in document.items() if value is not None}
    return verb + json.dumps(fields).encode() + b"\r\n"
