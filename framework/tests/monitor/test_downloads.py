"""Files that are made while they are sent: who asks, what is cut, what is let go of."""

from __future__ import annotations

import asyncio
import base64
import socket
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
import structlog

from framework.errors import BadQuery, DownloadRefused
from framework.monitor import http_server
from framework.monitor.authorization import credentials_of
from framework.monitor.http_server import Asker, HttpServer
from framework.monitor.turns import Turns
from framework.spec import Credentials, Download

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Mapping

LARGE = bytes(range(256)) * 1024


class Files:
    """A folder: what was asked of it, and which files it was told to let go of."""

    def __init__(self) -> None:
        self.askers: list[Asker] = []
        self.closed: list[str] = []
        self.made = 0
        """Pieces."""
        self.has_closed = asyncio.Event()

    async def begin(self, query: Mapping[str, str], asker: Asker) -> Download:
        self.askers.append(asker)
        if query.get("status"):
            raise DownloadRefused(int(query["status"]), "no")
        return Download(
            content_type="application/x-rows",
            pieces=self.pieces(asker.name),
            close=lambda: self.close(asker.name),
        )

    def close(self, name: str) -> None:
        self.closed.append(name)
        self.has_closed.set()

    async def pieces(self, name: str) -> AsyncGenerator[bytes, None]:
        yield b"begin"
        while name == "endless":
            self.made += 1
            yield LARGE
        yield LARGE
        if name == "broken":
            raise ConnectionError
        if name == "wrong":
            raise ZeroDivisionError
        yield b"end"


@asynccontextmanager
async def running(files: Files) -> AsyncIterator[int]:
    sock = socket.create_server(("127.0.0.1", 0))
    log = structlog.testing.CapturingLogger()
    server = HttpServer({}, turns=Turns(), downloads={"/rows/": files.begin}, log=log)
    await server.start([sock])
    try:
        yield sock.getsockname()[1]
    finally:
        await server.stop()


def ask(
    files: Files, target: str, headers: str = "", method: str = "GET", version: str = "1.1"
) -> bytes:
    async def go() -> bytes:
        async with running(files) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            head = f"{method} {target} HTTP/{version}\r\nHost: x\r\nConnection: close\r\n{headers}"
            writer.write(f"{head}\r\n".encode())
            parts = []
            try:
                while part := await reader.read(1 << 16):
                    parts.append(part)
            except ConnectionResetError:
                parts.append(b"RESET")
            writer.close()
            return b"".join(parts)

    return asyncio.run(go())


def unchunked(body: bytes) -> bytes:
    data = b""
    while body:
        size, _, body = body.partition(b"\r\n")
        data, body = data + body[: int(size, 16)], body[int(size, 16) + 2 :]
    return data


def test_pieces_come_in_chunks() -> None:
    files = Files()
    head, _, body = ask(files, "/rows/orders%20of.today").partition(b"\r\n\r\n")

    assert head.startswith(b"HTTP/1.1 200 OK")
    assert b"application/x-rows" in head
    assert unchunked(body) == b"begin" + LARGE + b"end"
    assert ["orders of.today"] == [it.name for it in files.askers] == files.closed
    assert ("127.0.0.1", True) == (files.askers[0].host, files.askers[0].port > 0)


def test_an_old_client_gets_it_without_chunks() -> None:
    files = Files()

    body = ask(files, "/rows/a", version="1.0").partition(b"\r\n\r\n")[2]
    assert body == b"begin" + LARGE + b"end"


def test_head_lets_go_at_once() -> None:
    files = Files()
    head, _, body = ask(files, "/rows/a", method="HEAD").partition(b"\r\n\r\n")

    assert (b"", ["a"], True) == (body, files.closed, head.startswith(b"HTTP/1.1 200"))


@pytest.mark.parametrize("name", ["broken", "wrong"])
def test_a_part_is_never_taken_for_the_whole(name: str) -> None:
    files = Files()
    answer = ask(files, f"/rows/{name}")

    assert not answer.endswith(b"0\r\n\r\n")
    assert [name] == files.closed


@pytest.mark.parametrize("path", ["/rows/", "/rows", "/other/a"])
def test_a_folder_itself_is_nothing(path: str) -> None:
    assert ask(Files(), path).startswith(b"HTTP/1.1 404")


def test_refusals_have_their_status() -> None:
    unknown, denied = (ask(Files(), f"/rows/a?status={it}") for it in (401, 403))

    assert b'WWW-Authenticate: Basic realm="NATS"' in unknown
    assert unknown.startswith(b"HTTP/1.1 401")
    assert denied.startswith(b"HTTP/1.1 403")
    assert b"WWW-Authenticate" not in denied
    assert denied.endswith(b"\r\n\r\nno\n")


def test_a_reader_that_stops_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "RESPONSE_DEADLINE_S", 0.05)
    files = Files()

    async def go() -> None:
        async with running(files) as port:
            _, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
            writer.write(b"GET /rows/endless HTTP/1.1\r\nHost: x\r\n\r\n")
            await files.has_closed.wait()
            writer.close()

    asyncio.run(go())
    # What the kernel and one piece hold; it is not made for nobody.
    assert files.made * len(LARGE) < 32 << 20


def test_who_asks() -> None:
    basic = base64.b64encode("ann:p:ä".encode()).decode()
    files = Files()
    ask(files, "/rows/a", f"Authorization: Basic {basic}\r\n")

    assert Credentials(user="ann", password="p:ä") == files.askers[0].credentials
    assert Credentials() == credentials_of("")
    assert Credentials(auth_token="s3cr3t") == credentials_of("Bearer s3cr3t")
    assert Credentials(jwt="eyJ.eyJ.c2ln") == credentials_of("bearer  eyJ.eyJ.c2ln ")


@pytest.mark.parametrize("header", ["Basic %%%", "Basic YW5u", "Digest x", "Basic", "Basic /w=="])
def test_who_asks_in_a_way_that_nobody_reads(header: str) -> None:
    with pytest.raises(BadQuery, match="Authorization: expected"):
        credentials_of(header)
    assert ask(Files(), "/rows/a", f"Authorization: {header}\r\n").startswith(b"HTTP/1.1 400")
