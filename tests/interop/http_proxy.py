"""An HTTP proxy that leads on to whatever CONNECT asks for."""

from __future__ import annotations

import base64
import socket
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

from typing_extensions import override

_CHUNK_BYTES = 65_536


class HttpProxy:
    """Listens on 127.0.0.1, in threads of its own.

    Args:
        login: `name:password` that it asks for; empty: it asks for none.
    """

    def __init__(self, login: str = "") -> None:
        self.login = f"Basic {base64.b64encode(login.encode()).decode()}" if login else ""
        self.asked: list[str] = []
        """Where it was to lead to, in order."""
        proxy = self

        class Handler(_Handler):
            owner = proxy

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, name="http proxy")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    owner: HttpProxy

    def do_CONNECT(self) -> None:
        """Lead on, until either side hangs up."""
        self.owner.asked.append(self.path)
        if self.owner.login and self.headers["Proxy-Authorization"] != self.owner.login:
            self.send_error(407)
            return
        host, _, port = self.path.rpartition(":")
        with socket.create_connection((host, int(port))) as target:
            self.send_response(200, "Connection established")
            self.end_headers()
            back = threading.Thread(target=_pass_on, args=(target, self.connection), daemon=True)
            back.start()
            _pass_on(self.connection, target)
            back.join()
        self.close_connection = True

    @override
    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(_CHUNK_BYTES):
            target.sendall(data)
    for sock in (source, target):
        with suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)
