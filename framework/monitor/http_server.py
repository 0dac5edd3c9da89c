"""HTTP/1.1 for the monitoring port: h11 on asyncio streams, every wait and every size bounded.

It is no web server: it answers GET and HEAD of a few fixed paths, and of folders whose files are
made while they are sent. Large documents are made while they are sent too, a piece in each turn,
and not further than the asker takes them.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from http import HTTPStatus
from itertools import count
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import parse_qsl, unquote

import h11
from msgspec import Struct, field

from framework.errors import BadQuery, DownloadRefused, PluginError
from framework.monitor.answers import Answer, Body, Page, Text
from framework.monitor.authorization import credentials_of
from framework.monitor.json_stream import json_body
from framework.monitor.limits import (
    ACCEPTS_A_TURN,
    CONNECTIONS_MAX,
    HEADER_BYTES_MAX,
    LISTEN_BACKLOG,
    PIECE_BYTES,
    REQUEST_BYTES_MAX,
    REQUEST_DEADLINE_S,
    RESPONSE_DEADLINE_S,
    STREAMS_AT_WORK,
)
from framework.spec import Download

if TYPE_CHECKING:
    import socket
    import ssl
    from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping

    from structlog.typing import FilteringBoundLogger

    from framework.monitor.turns import Turns
    from framework.spec import Credentials

_READ_BYTES: Final = 16 * 1024
_QUERY_FIELDS_MAX: Final = 100
_CHUNKED: Final = ("Transfer-Encoding", "chunked")
_LOGIN: Final = 401
_WAITS: Final = count(1)


def _nothing() -> None:
    """Let go of an answer that needs no end."""


class _Response(Struct, frozen=True):
    status: int
    content_type: str
    body: bytes | AsyncGenerator[bytes, None]
    """As a whole, or piece by piece."""
    headers: tuple[tuple[str, str], ...] = field(default=())
    is_download: bool = False
    """Its pieces come from elsewhere: to make one is no work of the control loop."""
    close: Callable[[], object] = _nothing
    """Called when it was sent, or will not be."""


class Asker(Struct, frozen=True):
    """Who asks for a download, and for what."""

    name: str
    """What stands behind the folder."""
    credentials: Credentials
    host: str
    port: int


Begin: TypeAlias = "Callable[[Mapping[str, str], Asker], Awaitable[Download]]"
"""Begins a file of a folder, for the query's fields, the first of a name."""


class _Connection(Struct, eq=False):
    """One connection, and from when on nothing is done for it."""

    task: asyncio.Task[None]
    writer: asyncio.StreamWriter
    is_asking: bool = False
    """A request of it is being answered."""
    waits_from: int = 0
    """For its peer, for a request or to take a part of an answer; less: for longer."""


class HttpServer:
    """Serve endpoints on bound sockets.

    Args:
        routes: Full path to what answers it; called with the query's fields, the first of a name.
        turns: Taken before each answer, and each piece of one.
        at_once: Paths that are answered without waiting for a turn: probes.
        downloads: Folder, with slashes around it, to what begins a file of it.
        log: Failures of endpoints go here.
    """

    def __init__(
        self,
        routes: Mapping[str, Callable[[Mapping[str, str]], Awaitable[object]]],
        *,
        turns: Turns,
        at_once: Collection[str] = (),
        downloads: Mapping[str, Begin] | None = None,
        log: FilteringBoundLogger,
    ) -> None:
        self.request_counts: Counter[str] = Counter()
        """Requests of each path, and of each folder, that was found."""
        self._routes = routes
        self._downloads = downloads or {}
        self._turns = turns
        self._at_once = at_once
        self._log = log
        self._listeners: list[asyncio.Server] = []
        self._connections: set[_Connection] = set()
        self._streams = asyncio.Semaphore(STREAMS_AT_WORK)

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
                backlog=ACCEPTS_A_TURN,
                ssl=tls,
                ssl_handshake_timeout=REQUEST_DEADLINE_S if tls else None,
            )
            # asyncio takes the backlog for what one turn accepts, too.
            sock.listen(LISTEN_BACKLOG)
            self._listeners.append(listener)

    async def stop(self) -> None:
        """Stop accepting, and cut the connections that are open."""
        for listener in self._listeners:
            listener.close()
        tasks = [connection.task for connection in self._connections]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._listeners.clear()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        connection = _Connection(task, writer)
        if len(self._connections) >= CONNECTIONS_MAX:
            self._evict()
        self._connections.add(connection)
        try:
            await self._serve(connection, reader)
        except (OSError, TimeoutError, h11.RemoteProtocolError, asyncio.CancelledError):
            return  # the peer's affair, our own stop, or another connection came
        finally:
            self._connections.discard(connection)
            writer.close()
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()

    def _evict(self) -> None:
        """Cut who is waited for the longest: idle ones first, then who does not take its answer."""
        oldest = min(self._connections, key=lambda it: (it.is_asking, it.waits_from))
        self._connections.discard(oldest)
        oldest.writer.transport.abort()
        oldest.task.cancel()

    async def _serve(self, peer: _Connection, reader: asyncio.StreamReader) -> None:
        connection = h11.Connection(h11.SERVER, max_incomplete_event_size=HEADER_BYTES_MAX)
        while True:
            peer.is_asking, peer.waits_from = False, next(_WAITS)
            try:
                async with asyncio.timeout(REQUEST_DEADLINE_S):
                    request = await _read_request(connection, reader)
            except h11.RemoteProtocolError as error:
                status = error.error_status_hint
                await self._send(connection, peer, _text(status, HTTPStatus(status).phrase))
                return
            if request is None:
                return
            peer.is_asking = True
            async with asyncio.timeout(RESPONSE_DEADLINE_S):
                response = await self._answer(request, peer)
            try:
                await self._send(connection, peer, response, is_head=request.method == b"HEAD")
            finally:
                response.close()
            if connection.our_state is not h11.DONE or connection.their_state is not h11.DONE:
                return
            connection.start_next_cycle()

    async def _answer(self, request: h11.Request, peer: _Connection) -> _Response:
        path, _, query_text = request.target.decode("latin-1").partition("?")
        answer, name = self._find(path, request, peer)
        if answer is None:
            nosniff = (("X-Content-Type-Options", "nosniff"),)
            return _text(404, "404 page not found\n", nosniff)
        self.request_counts[name] += 1
        if path not in self._at_once:
            await self._turns.take()
        try:
            return _response_from(await answer(_query_from_text(query_text)))
        except BadQuery as error:
            return _text(400, str(error))
        except DownloadRefused as refused:
            return _refusal(refused)
        except PluginError:  # logged already
            return _text(500, "Internal Server Error\n")
        except Exception as error:  # noqa: BLE001 - an endpoint must not take the port down
            self._log.error("Monitoring endpoint failed: {path}", path=path, error=repr(error))
            return _text(500, "Internal Server Error\n")

    def _find(
        self, path: str, request: h11.Request, peer: _Connection
    ) -> tuple[Callable[[Mapping[str, str]], Awaitable[object]] | None, str]:
        """Return what answers a path, and by which name it is counted; None: nothing does."""
        if answer := self._routes.get(path):
            return answer, path
        folder = next((it for it in self._downloads if path.startswith(it) and path != it), "")
        if not folder:
            return None, path

        async def answer_file(query: Mapping[str, str]) -> object:
            host, port = (peer.writer.get_extra_info("peername") or ("", 0))[:2]
            credentials = credentials_of(_header(request, b"authorization"))
            name = unquote(path.removeprefix(folder))
            return await self._downloads[folder](query, Asker(name, credentials, host, port))

        return answer_file, folder

    async def _send(
        self,
        connection: h11.Connection,
        peer: _Connection,
        response: _Response,
        *,
        is_head: bool = False,
    ) -> None:
        """Send an answer: with its length when that is known soon, else in chunks."""
        if connection.our_state not in {h11.IDLE, h11.SEND_RESPONSE}:
            return
        if isinstance(response.body, bytes):
            self._send_head(connection, peer, response, len(response.body))
            if not is_head:
                peer.writer.write(connection.send(h11.Data(data=response.body)) or b"")
        else:
            send = self._send_download if response.is_download else self._send_pieces
            async with contextlib.aclosing(response.body) as pieces:
                await send(connection, peer, response, pieces, is_head=is_head)
        peer.writer.write(connection.send(h11.EndOfMessage()) or b"")
        await _drain(peer)

    async def _send_pieces(
        self,
        connection: h11.Connection,
        peer: _Connection,
        response: _Response,
        pieces: AsyncGenerator[bytes, None],
        *,
        is_head: bool,
    ) -> None:
        part, more = await self._gather(pieces)
        self._send_head(connection, peer, response, None if more else len(part))
        if is_head:
            return
        peer.writer.write(connection.send(h11.Data(data=part)) or b"")
        while more:
            await _drain(peer)
            part, more = await self._gather(pieces)
            peer.writer.write(connection.send(h11.Data(data=part)) or b"")

    async def _send_download(
        self,
        connection: h11.Connection,
        peer: _Connection,
        response: _Response,
        pieces: AsyncGenerator[bytes, None],
        *,
        is_head: bool,
    ) -> None:
        """Send a file as it is made, and cut the connection if that does not come to its end."""
        self._send_head(connection, peer, response, None)
        if is_head:
            return
        try:
            async for piece in pieces:
                for at in range(0, len(piece), PIECE_BYTES):
                    part = h11.Data(data=piece[at : at + PIECE_BYTES])
                    peer.writer.write(connection.send(part) or b"")
                    await _drain(peer)
        except Exception as error:
            peer.writer.transport.abort()
            if isinstance(error, OSError):  # a reader that has gone, or takes nothing, among them
                raise
            self._log.error("Download failed: {error}", error=repr(error))
            raise ConnectionAbortedError from error

    def _send_head(
        self,
        connection: h11.Connection,
        peer: _Connection,
        response: _Response,
        size_bytes: int | None,
    ) -> None:
        """Send what stands before the body; `size_bytes` None: it comes in chunks."""
        length = ("Content-Length", str(size_bytes)) if size_bytes is not None else _CHUNKED
        headers = [
            *response.headers,
            ("Content-Type", response.content_type),
            ("Date", _date()),
            length,
        ]
        reason = HTTPStatus(response.status).phrase
        head = h11.Response(status_code=response.status, headers=headers, reason=reason)
        peer.writer.write(connection.send(head) or b"")

    async def _gather(self, pieces: AsyncGenerator[bytes, None]) -> tuple[bytes, bool]:
        """Return the next part of an answer, and whether more follows; a few are made at a time."""
        parts: list[bytes] = []
        size_bytes = 0
        async with self._streams:
            async for piece in pieces:
                parts.append(piece)
                size_bytes += len(piece)
                if size_bytes >= PIECE_BYTES:
                    return b"".join(parts), True
        return b"".join(parts), False


async def _drain(peer: _Connection) -> None:
    """Return when the peer has taken most of what it was sent.

    Raises:
        ConnectionResetError: It has gone: what it asked for needs no end.
        TimeoutError: It takes nothing.
    """
    peer.waits_from = next(_WAITS)
    async with asyncio.timeout(RESPONSE_DEADLINE_S):
        await peer.writer.drain()
    if peer.writer.transport.is_closing():
        raise ConnectionResetError


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


def _header(request: h11.Request, name: bytes) -> str:
    """Return the value of a header; empty: there is none."""
    return next((value.decode("latin-1") for it, value in request.headers if it == name), "")


def _refusal(refused: DownloadRefused) -> _Response:
    asks = (("WWW-Authenticate", 'Basic realm="NATS", charset="UTF-8"'),)
    return _text(refused.status, f"{refused.text}\n", asks if refused.status == _LOGIN else ())


def _response_from(answer: object) -> _Response:
    if isinstance(answer, Download):
        return _Response(
            200, answer.content_type, answer.pieces, is_download=True, close=answer.close
        )
    if isinstance(answer, Page):
        return _Response(200, "text/html; charset=utf-8", answer.html.encode())
    if isinstance(answer, Body):
        return _Response(200, answer.content_type, answer.data)
    if isinstance(answer, Text):
        return _text(answer.status, answer.text)
    if not isinstance(answer, Answer):
        answer = Answer(200, answer)
    body = json_body(answer.document, indented=answer.indent is not None)
    allow_origin = (("Access-Control-Allow-Origin", "*"),)
    return _Response(answer.status, "application/json", body, allow_origin)


def _date() -> str:
    """Return the time as HTTP says it; without `email.utils`, whose import takes 20 ms."""
    return time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime())


def _text(status: int, text: str, headers: tuple[tuple[str, str], ...] = ()) -> _Response:
    return _Response(status, "text/plain; charset=utf-8", text.encode(), headers)
