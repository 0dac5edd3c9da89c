"""Make an HTTP opener without proxies, cookies and other schemes.

The library gives each read of a socket its time, so that a server which sends a byte now and then
would hold a worker thread for ever. Here an answer has its time as a whole.
"""

from __future__ import annotations

import io
import time
from functools import partial
from http.client import HTTPConnection, HTTPResponse
from typing import TYPE_CHECKING, Any
from urllib import request

from typing_extensions import override

if TYPE_CHECKING:
    import socket


def make_opener() -> request.OpenerDirector:
    """Return an opener; redirects are followed, but not to files or other protocols."""
    opener = request.OpenerDirector()
    for handler in (
        request.UnknownHandler,
        request.HTTPDefaultErrorHandler,
        request.HTTPRedirectHandler,
        request.HTTPErrorProcessor,
        _Http,
        _Https,
    ):
        opener.add_handler(handler())
    return opener


class _Timed(io.RawIOBase):
    """What a socket sends until a time is over."""

    def __init__(self, raw: io.RawIOBase, sock: socket.socket, ends_s: float) -> None:
        self._raw = raw
        self._sock = sock
        self._ends_s = ends_s

    @override
    def readable(self) -> bool:
        return True

    @override
    def readinto(self, buffer: Any) -> int | None:
        left_s = self._ends_s - time.monotonic()  # noqa: TID251 - sockets have real time
        if left_s <= 0:
            raise TimeoutError
        self._sock.settimeout(left_s)
        return self._raw.readinto(buffer)

    @override
    def close(self) -> None:
        self._raw.close()
        super().close()


class _Answer(HTTPResponse):
    def __init__(self, sock: socket.socket, *arguments: Any, ends_s: float, **more: Any) -> None:
        super().__init__(sock, *arguments, **more)
        raw = self.fp.detach()
        self.fp = io.BufferedReader(_Timed(raw, sock, ends_s))


class _TimedHandler(request.AbstractHTTPHandler):
    @override
    def do_open(self, http_class: Any, req: request.Request, **arguments: Any) -> HTTPResponse:
        return super().do_open(partial(_connection, http_class), req, **arguments)


class _Http(_TimedHandler, request.HTTPHandler):
    """Asks by `http`."""


class _Https(_TimedHandler, request.HTTPSHandler):
    """Asks by `https`."""


def _connection(kind: type[HTTPConnection], host: str, *, timeout: float, **more: Any) -> Any:
    connection: Any = kind(host, timeout=timeout, **more)
    ends_s = time.monotonic() + timeout  # noqa: TID251
    connection.response_class = partial(_Answer, ends_s=ends_s)
    return connection
