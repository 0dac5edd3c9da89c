"""A server of a cluster from before nats-server 2.9: it tells what it does not want."""

from __future__ import annotations

import base64
import json
import socket
from typing import Self

from framework.testing import RawClient

WAIT_S = 20.0
NAME = "B"


def document(**fields: object) -> dict[str, object]:
    """Return its INFO."""
    return {
        "server_id": "NOLD",
        "server_name": "old",
        "version": "2.8.4",
        "proto": 1,
        "host": "127.0.0.1",
        "port": 1,
        "headers": True,
        "max_payload": 1 << 20,
        "gateway": NAME,
        "gateway_nrp": True,
        **fields,
    }


def line(verb: str, fields: dict[str, object]) -> bytes:
    """Return a line with a document."""
    return f"{verb} {json.dumps(fields)}\r\n".encode()


class OldGateway:
    """Waits for a server to dial it.

    Args:
        port: Where.
    """

    def __init__(self, port: int) -> None:
        self._listener = socket.create_server(("127.0.0.1", port))
        self._listener.settimeout(WAIT_S)
        self._received = b""
        self._sock: socket.socket | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()
        if self._sock is not None:
            self._sock.close()

    def await_dial(self) -> None:
        """Let a server connect, and say nothing to it."""
        self._sock, _ = self._listener.accept()
        self._sock.settimeout(WAIT_S)

    def await_end(self) -> None:
        """Wait until the server hangs up."""
        assert self._sock is not None
        while self._sock.recv(65_536):
            pass

    def accept(self, **fields: object) -> str:
        """Let a server be the one that sends messages here; fields of our INFO may be others.

        Returns:
            The name of its cluster.
        """
        self.await_dial()
        self.say(line("INFO", document(**fields)))
        name = ""
        while not (got := self._read_line()).startswith(b"INFO"):
            if got.startswith(b"CONNECT"):
                name = json.loads(got.removeprefix(b"CONNECT "))["gateway"]
        return name

    def say(self, data: bytes) -> None:
        """Send lines."""
        assert self._sock is not None
        self._sock.sendall(data)

    def command(self, number: int) -> None:
        """Tell that all interest in `$G` is told now (2), or was told (3)."""
        payload = base64.b64encode(b"$G").decode()
        self.say(line("INFO", document(gateway_cmd=number, gateway_cmd_payload=payload)))

    def sent(self) -> list[bytes]:
        """Return the messages that came, but for those of `$SYS`, before the answer to a PING."""
        self.say(b"PING\r\n")
        got = []
        while (words := self._read_line()) != b"PONG":
            if words.startswith((b"RMSG", b"HMSG")):
                self._take(int(words.split()[-1]) + 2)
                got += [words] if b" $SYS " not in words else []
            elif words == b"PING":
                self.say(b"PONG\r\n")
        return got

    def _read_line(self) -> bytes:
        while b"\r\n" not in self._received:
            self._receive()
        found, _, self._received = self._received.partition(b"\r\n")
        return found

    def _take(self, count: int) -> None:
        while len(self._received) < count:
            self._receive()
        self._received = self._received[count:]

    def _receive(self) -> None:
        assert self._sock is not None
        data = self._sock.recv(65_536)
        assert data, "the server has hung up"
        self._received += data


def dial(port: int) -> RawClient:
    """Return a connection by which such a server sends messages to another cluster."""
    client = RawClient(port)
    client.expect(b"INFO")
    client.send(line("CONNECT", {"name": "NOLD", "gateway": NAME}) + line("INFO", document()))
    return client
