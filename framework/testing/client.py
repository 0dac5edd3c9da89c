"""A raw NATS client: sends the bytes it is given, returns the lines that come back.

Not a client for applications: it blocks, keeps no subscriptions and answers only PING.
"""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
from collections.abc import Mapping
from typing import Any, Self

from msgspec import Struct

from framework.testing.errors import ConnectionEndedError

READ_TIMEOUT_S = 20.0
"""How long a server may stay silent; less than a test may take."""

CONNECT_DEFAULTS: Mapping[str, object] = {
    "verbose": False,
    "pedantic": False,
    "tls_required": False,
    "name": "framework.testing",
    "lang": "python",
    "version": "1",
    "protocol": 1,
    "echo": True,
    "headers": True,
    "no_responders": True,
}
"""What current clients send; a test overrides what it is about."""


class Operation(Struct, frozen=True):
    """One operation of the protocol, as the server sent it."""

    line: bytes
    """Without its CRLF."""
    body: bytes | None = None
    """Headers and payload of MSG, HMSG and RMSG, without the final CRLF; None for the others."""

    @property
    def verb(self) -> bytes:
        """First word of the line, in upper case."""
        return self.line.split(maxsplit=1)[0].upper() if self.line.strip() else b""

    @property
    def subject(self) -> bytes:
        """Second word of the line: the subject of a MSG or HMSG."""
        return self.line.split()[1]

    @property
    def document(self) -> dict[str, Any]:
        """The JSON object of an INFO or CONNECT."""
        document: dict[str, Any] = json.loads(self.line.split(maxsplit=1)[1])
        return document


class RawClient:
    """One connection to a server, blocking; a selector takes it as it takes a socket.

    Args:
        port: Where the server listens.
        host: Name or address.
        receive_buffer_bytes: SO_RCVBUF; 0 leaves it to the system.
        answers_pings: False makes `read` return PINGs in place of answering them.
        timeout_s: How long a read or a write may take at most.
    """

    def __init__(
        self,
        port: int,
        host: str = "127.0.0.1",
        *,
        receive_buffer_bytes: int = 0,
        answers_pings: bool = True,
        timeout_s: float = READ_TIMEOUT_S,
    ) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.settimeout(timeout_s)
        if receive_buffer_bytes:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
        try:
            self._socket.connect((host, port))
        except OSError:
            self._socket.close()
            raise
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._answers_pings = answers_pings
        self._received = bytearray()
        self.info: dict[str, Any] = {}
        """The last INFO that was read, whether anybody waited for it or not."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; twice is fine."""
        self._socket.close()

    def shut_down(self) -> None:
        """End the connection in both directions, in other processes that hold it, too."""
        self._socket.shutdown(socket.SHUT_RDWR)

    def fileno(self) -> int:
        """Return the file descriptor of the socket."""
        return self._socket.fileno()

    @property
    def local_address(self) -> tuple[str, int]:
        """This end, as the server's logs name the client."""
        host, port = self._socket.getsockname()
        return host, port

    def start_tls(self, context: ssl.SSLContext, host: str = "localhost") -> None:
        """Shake hands; INFO is read before, unless the server wants TLS first.

        Args:
            context: Whom to trust, and what to show.
            host: Whom the server's certificate must be for.
        """
        self._socket = context.wrap_socket(self._socket, server_hostname=host)

    # -- sending

    def send(self, data: bytes) -> None:
        """Send bytes as they are; a server that closed the connection takes no more of them."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._socket.sendall(data)

    def send_slowly(self, data: bytes, piece_bytes: int = 1) -> None:
        """Send bytes in pieces, each in a segment of its own as far as the kernel allows."""
        for start in range(0, len(data), piece_bytes):
            self.send(data[start : start + piece_bytes])

    def log_in(self, **options: object) -> dict[str, Any]:
        """Read INFO, send CONNECT and PING, and wait for the PONG.

        Args:
            options: Fields of CONNECT that differ from `CONNECT_DEFAULTS`.

        Returns:
            The INFO document; the newest, if several came.
        """
        self.expect(b"INFO")
        self.send(b"CONNECT " + json.dumps({**CONNECT_DEFAULTS, **options}).encode() + b"\r\n")
        self.flush()
        return self.info

    # -- reading

    def read(self) -> Operation:
        """Return the next operation; a PING is answered and skipped.

        Raises:
            ConnectionEndedError: The server closed the connection.
            TimeoutError: It stays silent.
        """
        while True:
            operation = self._read_any()
            if operation.verb == b"INFO":
                self.info = operation.document
            if operation.verb != b"PING" or not self._answers_pings:
                return operation
            self.send(b"PONG\r\n")

    def expect(self, *starts: bytes) -> Operation:
        """Return the next operation, which must begin with one of `starts`."""
        operation = self.read()
        assert operation.line.startswith(starts), f"expected one of {starts}, got {operation}"
        return operation

    def read_until(self, start: bytes) -> list[Operation]:
        """Return the operations up to and including the first whose line begins with `start`."""
        operations = [self.read()]
        while not operations[-1].line.startswith(start):
            operations.append(self.read())
        return operations

    def flush(self) -> list[Operation]:
        """Send PING and return what came before the PONG: all that the server had for us."""
        self.send(b"PING\r\n")
        return self.read_until(b"PONG")[:-1]

    def connect_ports(self) -> set[int]:
        """Return the ports of the servers that the last INFO told of."""
        return {int(url.rpartition(":")[2]) for url in self.info.get("connect_urls", ())}

    def await_ports(self, *ports: int) -> None:
        """Read until INFO has told of servers with exactly these ports."""
        while self.connect_ports() != set(ports):
            self.read_until(b"INFO")

    def messages(self) -> list[Operation]:
        """Return the MSG and HMSG that the server had for us."""
        return [operation for operation in self.flush() if operation.body is not None]

    def read_to_end(self) -> list[Operation]:
        """Return all operations until the server closes the connection."""
        operations: list[Operation] = []
        with contextlib.suppress(ConnectionEndedError):
            while True:
                operations.append(self.read())
        return operations

    def await_interest(self, subject: bytes) -> None:
        """Return as soon as this server knows a subscription on `subject`, its own or by a route.

        Those of one client become known in their order: it is enough to ask for the last.
        The last try delivers an empty message; needs `no_responders` and `headers`.
        """
        probe = b"PUB %b _INBOX.await_interest 0\r\n\r\n" % subject
        self.send(b"SUB _INBOX.await_interest interest\r\n")
        refused = True
        while refused:
            self.send(probe)
            refused = any(operation.verb == b"HMSG" for operation in self.flush())
        self.send(b"UNSUB interest\r\n")
        self.flush()

    # -- bytes

    def _read_any(self) -> Operation:
        line = self._take_line()
        words = line.split()
        if words and words[0] in {b"MSG", b"HMSG", b"RMSG"}:
            body = self._take(int(words[-1]) + 2)
            assert body.endswith(b"\r\n"), f"{line!r} is followed by {body[-40:]!r}"
            return Operation(line, body[:-2])
        return Operation(line)

    def _take_line(self) -> bytes:
        seen = 0
        while (end := self._received.find(b"\n", seen)) < 0:
            seen = len(self._received)
            self._receive("a line")
        return self._take(end + 1).removesuffix(b"\n").removesuffix(b"\r")

    def _take(self, count: int) -> bytes:
        while len(self._received) < count:
            self._receive(f"{count} bytes")
        taken = bytes(self._received[:count])
        del self._received[:count]
        return taken

    def _receive(self, waiting_for: str) -> None:
        try:
            data = self._socket.recv(1 << 18)
        except ConnectionResetError:
            data = b""
        if not data:
            raise ConnectionEndedError(waiting_for, bytes(self._received))
        self._received += data
