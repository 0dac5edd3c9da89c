"""HTTP/1.1 for the monitoring port: h11 on asyncio streams, every wait and every size bounded.

It is no web server: it answers GET and HEAD of a few fixed paths with documents made at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections import Counter
from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl

import h11
from msgspec import Struct, field

from framework.errors import BadQuery, PluginError
from framework.monitor.answers import Answer, Body, Page, Text
from framework.monitor.limits import (
    CONNECTIONS_MAX,
    HEADER_BYTES_MAX,
    REQUEST_BYTES_MAX,
    REQUEST_DEADLINE_S,
    RESPONSE_DEADLINE_S,
)

if TYPE_CHECKING:
    import socket
    import ssl
    from collections.abc import Awaitable, Callable, Mapping

    from structlog.typing import FilteringBoundLogger

_READ_BYTES: Final = 16 * 1024
_QUERY_FIELDS_MAX: Final = 100


class _Response(Struct, frozen=True):
    status: int
    content_type: str
    body: bytes
    headers: tuple[tuple[str, str], ...] = field(default=())


class HttpServer:
    """Serve endpoints on bound sockets.

    Args:
        routes: Full path to what answers it; called with the query's fields, the first of a name.
        log: Failures of endpoints go here.
    """

    def __init__(
        self,
        routes: Mapping[str, Callable[[Mapping[str, str]], Awaitable[object]]],
        *,
        log: FilteringBoundLogger,
    ) -> None:
        self.request_counts: Counter[str] = Counter()
        """Requests of each path that was found."""
        self._routes = routes
        self._log = log
        self._listeners: list[asyncio.Server] = []
        self._connections: set[asyncio.Task[None]] = set()

    async def start(
        self, sockets: list[socket.socket], *, tls: ssl.SSLContext | None = None
    ) -> None:
        """Accept on sockets that are bound; they are this server's from now on.

        With a context `tls` it speaks HTTPS.
        """
        for sock in sockets:
            listener = await asyncio.start_server(
                self._accept,
                sock=sock,
                limit=HEADER_BYTES_MAX,
                backlog=CONNECTIONS_MAX,
                ssl=tls,
                ssl_handshake_timeout=REQUEST_DEADLINE_S if tls else None,
            )
            self._listeners.append(listener)

    async def stop(self) -> None:
        """Stop accepting, and cut the connections that are open."""
        for listener in self._listeners:
            listener.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        self._listeners.clear()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        try:
            if len(self._connections) >= CONNECTIONS_MAX:
                return
            self._connections.add(task)
            await self._serve(reader, writer)
        except (OSError, TimeoutError, h11.RemoteProtocolError, asyncio.CancelledError):
            return  # the peer's affair, or our own stop
        finally:
            self._connections.discard(task)
            writer.close()
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = h11.Connection(h11.SERVER, max_incomplete_event_size=HEADER_BYTES_MAX)
        while True:
            try:
                async with asyncio.timeout(REQUEST_DEADLINE_S):
                    request = await _read_request(connection, reader)
            except h11.RemoteProtocolError as error:
                status = error.error_status_hint
                await self._send(connection, writer, _text(status, HTTPStatus(status).phrase))
                return
            if request is None:
                return
            async with asyncio.timeout(RESPONSE_DEADLINE_S):
                response = await self._answer(request.target)
                await self._send(connection, writer, response, is_head=request.method == b"HEAD")
            if connection.our_state is not h11.DONE or connection.their_state is not h11.DONE:
                return
            connection.start_next_cycle()

    async def _answer(self, target: bytes) -> _Response:
        path, _, query_text = target.decode("latin-1").partition("?")
        answer = self._routes.get(path)
        if answer is None:
            nosniff = (("X-Content-Type-Options", "nosniff"),)
            return _text(404, "404 page not found\n", nosniff)
        self.request_counts[path] += 1
        try:
            return await _response_from(await answer(_query_from_text(query_text)))
        except BadQuery as error:
            return _text(400, str(error))
        except PluginError:  # logged already
            return _text(500, "Internal Server Error\n")
        except Exception as error:  # noqa: BLE001 - an endpoint must not take the port down
            self._log.error("Monitoring endpoint failed: {path}", path=path, error=repr(error))
            return _text(500, "Internal Server Error\n")

    async def _send(
        self,
        connection: h11.Connection,
        writer: asyncio.StreamWriter,
        response: _Response,
        *,
        is_head: bool = False,
    ) -> None:
        if connection.our_state not in {h11.IDLE, h11.SEND_RESPONSE}:
            return
        headers = [
            *response.headers,
            ("Content-Type", response.content_type),
            ("Date", _date()),
            ("Content-Length", str(len(response.body))),
        ]
        reason = HTTPStatus(response.status).phrase
        writer.write(
            connection.send(
                h11.Response(status_code=response.status, headers=headers, reason=reason)
            )
            or b""
        )
        if not is_head:
            writer.write(connection.send(h11.Data(data=response.body)) or b"")
        writer.write(connection.send(h11.EndOfMessage()) or b"")
        await writer.drain()


async def _read_request(
    connection: h11.Connection, reader: asyncio.StreamReader
) -> h11.Request | None:
    """Return the next request with its body skipped; None when the peer has no more."""
    request: h11.Request | None = None
    received_bytes = 0
    while True:
        event = connection.next_event()
        if isinstance(event, h11.Request):
            request = event
        elif isinstance(event, h11.EndOfMessage):
            return request
        elif event is h11.PAUSED or isinstance(event, h11.ConnectionClosed):
            return None
        elif event is h11.NEED_DATA:
            data = await reader.read(_READ_BYTES)
            received_bytes += len(data)
            if received_bytes > REQUEST_BYTES_MAX:
                raise h11.RemoteProtocolError("request too large", error_status_hint=413)
            connection.receive_data(data)


def _query_from_text(text: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=_QUERY_FIELDS_MAX)
    except ValueError as error:
        raise BadQuery(str(error)) from error
    query: dict[str, str] = {}
    for name, value in pairs:
        query.setdefault(name, value)
    return query


async def _response_from(answer: object) -> _Response:
    if isinstance(answer, Page):
        return _Response(200, "text/html; charset=utf-8", answer.html.encode())
    if isinstance(answer, Body):
        return _Response(200, answer.content_type, answer.data)
    if isinstance(answer, Text):
        return _text(answer.status, answer.text)
    if not isinstance(answer, Answer):
        answer = Answer(200, answer)
    # A thousand connections take 30 ms: not in the thread that all actors share.
    body = await asyncio.to_thread(_encode, answer)
    allow_origin = (("Access-Control-Allow-Origin", "*"),)
    return _Response(answer.status, "application/json", body, allow_origin)


def _encode(answer: Answer) -> bytes:
    separators = (",", ": ") if answer.indent else (",", ":")
    return json.dumps(
        answer.document, indent=answer.indent, separators=separators, ensure_ascii=False
    ).encode("utf-8", "replace")


def _date() -> str:
    """Return the time as HTTP says it; without `email.utils`, whose import takes 20 ms."""
    return time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime())


def _text(status: int, text: str, headers: tuple[tuple[str, str], ...] = ()) -> _Response:
    return _Response(status, "text/plain; charset=utf-8", text.encode(), headers)
