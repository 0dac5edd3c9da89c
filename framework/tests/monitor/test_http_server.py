from __future__ import annotations

import asyncio
import json
import socket
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
import structlog

from framework.errors import BadQuery
from framework.monitor import http_server
from framework.monitor.http_server import Answer, HttpServer, Page
from framework.monitor.turns import Turns

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping


async def echo(query: Mapping[str, str]) -> object:
    return {"query": dict(query)}


async def complain(_query: Mapping[str, str]) -> object:
    raise BadQuery("no such thing")


async def fail(_query: Mapping[str, str]) -> object:
    raise ZeroDivisionError


async def unwell(_query: Mapping[str, str]) -> object:
    return Answer(503, {"status": "unavailable"}, indent=None)


async def page(_query: Mapping[str, str]) -> object:
    return Page("<p>hello</p>")


ROUTES = {"/echo": echo, "/complain": complain, "/fail": fail, "/unwell": unwell, "/": page}


@asynccontextmanager
async def running() -> AsyncIterator[tuple[HttpServer, int]]:
    sock = socket.create_server(("127.0.0.1", 0))
    server = HttpServer(
        ROUTES, turns=Turns(), at_once={"/unwell"}, log=structlog.testing.CapturingLogger()
    )
    await server.start([sock])
    try:
        yield server, sock.getsockname()[1]
    finally:
        await server.stop()


async def exchange(port: int, data: bytes, *, end: bool = False) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    if end:
        writer.write_eof()
    answer = await reader.read(-1)
    writer.close()
    await writer.wait_closed()
    return answer


def request(target: str, method: str = "GET", headers: str = "Connection: close\r\n") -> bytes:
    return f"{method} {target} HTTP/1.1\r\nHost: x\r\n{headers}\r\n".encode()


def ask(data: bytes, *, end: bool = False) -> tuple[int, dict[str, str], bytes]:
    async def go() -> bytes:
        async with running() as (_, port):
            return await exchange(port, data, end=end)

    head, _, body = asyncio.run(go()).partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines[1:])
    return int(lines[0].split()[1]), {name.lower(): it for name, it in headers.items()}, body


def test_document() -> None:
    status, headers, body = ask(request("/echo?subs=1&subs=2&acc=%24G&empty"))

    assert status == 200
    assert headers["content-type"] == "application/json"
    assert headers["access-control-allow-origin"] == "*"
    assert int(headers["content-length"]) == len(body)
    assert json.loads(body) == {"query": {"subs": "1", "acc": "$G", "empty": ""}}


def test_documents_are_indented_as_nats_server_does() -> None:
    assert ask(request("/echo"))[2] == b'{\n  "query": {}\n}'


def test_head_has_no_body() -> None:
    status, headers, body = ask(request("/echo", "HEAD"))

    assert status == 200
    assert headers["content-length"] == "17"
    assert body == b""


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("/complain", (400, b"no such thing")),
        ("/nothing", (404, b"404 page not found\n")),
        ("/echo/", (404, b"404 page not found\n")),
        ("/fail", (500, b"Internal Server Error\n")),
    ],
)
def test_refusals_are_plain_text(target: str, expected: tuple[int, bytes]) -> None:
    status, headers, body = ask(request(target))

    assert (status, body) == expected
    assert headers["content-type"] == "text/plain; charset=utf-8"


def test_status_of_an_answer() -> None:
    status, _, body = ask(request("/unwell"))

    assert (status, body) == (503, b'{"status":"unavailable"}')


def test_page_for_people() -> None:
    status, headers, body = ask(request("/"))

    assert (status, body) == (200, b"<p>hello</p>")
    assert headers["content-type"] == "text/html; charset=utf-8"


def test_a_body_is_skipped() -> None:
    data = request("/echo", "POST", "Content-Length: 3\r\nConnection: close\r\n") + b"abc"

    assert ask(data)[0] == 200


@pytest.mark.parametrize("data", [b"GARBAGE\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\r\n\r\n"])
def test_what_is_no_http_is_refused(data: bytes) -> None:
    assert ask(data)[0] == 400


def test_long_headers_are_refused() -> None:
    assert ask(request("/echo", headers=f"X: {'x' * 70_000}\r\n"))[0] in {400, 431}


def test_long_bodies_are_not_read_to_their_end() -> None:
    data = request("/echo", "POST", "Content-Length: 10000000\r\n") + b"x" * 200_000

    async def go() -> bytes:
        async with running() as (_, port):
            try:
                return await exchange(port, data)
            except ConnectionResetError:  # closed with bytes unread
                return b"HTTP/1.1 413"

    assert asyncio.run(go()).startswith(b"HTTP/1.1 413")


def test_many_query_fields_are_refused() -> None:
    assert ask(request("/echo?" + "&".join(f"a{number}=1" for number in range(200))))[0] == 400


def test_a_connection_serves_several_requests() -> None:
    data = request("/echo?n=1", headers="") + request("/echo?n=2")

    async def go() -> bytes:
        async with running() as (server, port):
            answer = await exchange(port, data)
            assert server.request_counts == {"/echo": 2}
            return answer

    assert asyncio.run(go()).count(b"200 OK") == 2


def test_half_a_request_and_the_end() -> None:
    async def go() -> bytes:
        async with running() as (_, port):
            return await exchange(port, b"GET /echo HT", end=True)

    assert b"200" not in asyncio.run(go())


def test_silence_ends_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "REQUEST_DEADLINE_S", 0.01)

    async def go() -> bytes:
        async with running() as (_, port):
            return await exchange(port, b"GET /")

    assert asyncio.run(go()) == b""


def test_connections_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "CONNECTIONS_MAX", 1)

    async def go() -> bytes:
        async with running() as (_, port):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request("/echo", headers=""))
            await reader.readuntil(b"\r\n\r\n")
            second = await exchange(port, b"", end=True)
            writer.close()
            return second

    assert asyncio.run(go()) == b""


def test_stop_cuts_open_connections() -> None:
    async def go() -> bytes:
        async with running() as (server, port):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request("/echo", headers=""))
            await reader.readexactly(10)
            await server.stop()
            rest = await reader.read(-1)
            writer.close()
            return rest

    asyncio.run(go())
