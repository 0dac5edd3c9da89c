"""Servers with a WebSocket port, ours and real ones."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from framework.testing.websocket import WebSocketClient

if TYPE_CHECKING:
    from framework.testing.server_process import ServerProcess

CONNECT = b'CONNECT {"verbose":false,"protocol":0,"headers":true,"no_responders":true}\r\nPING\r\n'


def websocket_port(server: ServerProcess) -> int:
    """Return the port, as the server has logged it."""
    found = re.search(r"websocket clients on wss?://\S*:(\d+)", server.log())

    assert found, server.log()
    return int(found[1])


class Port:
    """A WebSocket port that tests connect to."""

    def __init__(self, server: ServerProcess, context=None) -> None:
        self.server = server
        self.number = websocket_port(server)
        self.context = context

    @property
    def url(self) -> str:
        """Return where clients connect."""
        return f"{'wss' if self.context else 'ws'}://localhost:{self.number}"

    def client(self) -> WebSocketClient:
        """Return a connection that has said nothing."""
        return WebSocketClient(self.number, self.context)

    def logged_in(self, **headers: str | None) -> WebSocketClient:
        """Return a client that has logged in."""
        client = self.client()
        client.begin(connect=CONNECT, **headers)
        client.expect(b"PONG")
        return client


@pytest.fixture
def open_port(start_server, kind):
    """Start a server of the kind with options in its block `websocket`."""

    def begin(inside="", *, top="", flags=(), context=None, tls="no_tls: true"):
        block = f'websocket {{ listen: "127.0.0.1:-1", {tls}\n {inside} }}\n{top}\n'
        return Port(start_server("-D", *flags, kind=kind, config=block), context)

    return begin
