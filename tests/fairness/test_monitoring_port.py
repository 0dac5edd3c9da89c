"""Large and many questions by HTTP: what is made, how much of it at a time, and for whom."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from functools import partial

import pytest
from structlog.testing import CapturingLogger

from framework.monitor import Turns, turns
from framework.monitor.http_server import HttpServer
from framework.monitor.json_stream import Batches
from framework.monitor.limits import CONNECTIONS_MAX, PIECE_BYTES
from framework.spec.rows import Rows

PIECE = b'"' + b"x" * 1_000 + b'"'
PIECES = 20_000


class Endless(Rows):
    """Twenty megabytes of an array, and how many of its pieces were made."""

    made = 0

    async def items(self, newline):
        comma = b""
        for _ in range(PIECES):
            Endless.made += 1
            yield comma + newline + PIECE
            comma = b","


@contextlib.asynccontextmanager
async def serving(turns=None, **answers):
    sock = socket.create_server(("127.0.0.1", 0))
    routes = {f"/{name}": answer for name, answer in answers.items()}
    server = HttpServer(routes, turns=turns or Turns(), at_once={"/healthz"}, log=CapturingLogger())
    await server.start([sock])
    try:
        yield partial(asyncio.open_connection, "127.0.0.1", sock.getsockname()[1])
    finally:
        await server.stop()


def request(path, *, last=True):
    connection = "close" if last else "keep-alive"
    return f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: {connection}\r\n\r\n".encode()


async def ask(dial, path):
    """Return the body of an answer; chunks are joined."""
    reader, writer = await dial()
    writer.write(request(path))
    head, _, body = (await reader.read(-1)).partition(b"\r\n\r\n")
    writer.close()
    if b"chunked" not in head:
        return body
    parts = []
    while body:
        size, _, body = body.partition(b"\r\n")
        parts.append(body[: int(size, 16)])
        body = body[int(size, 16) + 2 :]
    return b"".join(parts)


async def healthy(_query):
    return {"status": "ok"}


async def endless(_query):
    return {"rows": Endless()}


@pytest.fixture(autouse=True)
def nothing_made():
    Endless.made = 0


async def until(condition):
    async with asyncio.timeout(20):
        while not condition():
            over = asyncio.get_running_loop().create_future()
            asyncio.get_running_loop().call_later(0.001, over.set_result, None)
            await over


def test_a_large_document_arrives_whole():
    async def go():
        async with serving(large=endless) as dial:
            return await ask(dial, "/large")

    rows = json.loads(asyncio.run(go()))["rows"]
    assert len(rows) == PIECES
    assert Endless.made == PIECES


def test_who_hangs_up_ends_its_answer():
    async def go():
        async with serving(large=endless, healthz=healthy) as dial:
            for _ in range(60):
                _, writer = await dial()
                writer.write(request("/large"))
                await writer.drain()
                writer.close()
            # Sixty questions of twenty megabytes each, and a probe behind them.
            assert b"ok" in await ask(dial, "/healthz")
            assert json.loads(await ask(dial, "/large"))["rows"]

    asyncio.run(go())
    # What the sockets' buffers took, and a piece more of each: a tenth of it would be 120,000.
    assert Endless.made < PIECES + 60 * 9_000 / 2


def test_who_takes_nothing_costs_one_piece_at_a_time():
    async def go():
        async with serving(large=endless, healthz=healthy) as dial:
            readers = [await dial() for _ in range(40)]
            for reader, writer in readers:
                reader._transport.pause_reading()
                writer.write(request("/large"))
            await until(lambda: Endless.made >= 40 * PIECE_BYTES / len(PIECE))
            assert b"ok" in await ask(dial, "/healthz")
            for _, writer in readers:
                writer.transport.abort()

    asyncio.run(go())
    assert Endless.made < 40 * PIECES / 2


def test_one_question_begins_in_a_turn_of_the_loop(neighbour, monkeypatch):
    monkeypatch.setattr(turns, "TOGETHER_S", 0.0)  # these are little each
    begun = 0

    async def count(_query):
        nonlocal begun
        begun += 1
        return {"begun": begun}

    async def go():
        async with serving(poll=count) as dial:
            other = neighbour(lambda: begun)
            living = asyncio.ensure_future(other.live())
            await asyncio.gather(*(ask(dial, "/poll") for _ in range(100)))
            other.stop()
            await living
            return other

    other = asyncio.run(go())
    assert begun == 100
    assert other.most == 1


def test_documents_are_made_some_in_each_turn(neighbour, monkeypatch):
    monkeypatch.setattr(turns, "TOGETHER_S", 0.0)  # these are little each
    made = 0

    async def batches():
        nonlocal made
        for first in range(0, 10_000, 16):
            made += 1
            yield [{"number": first + it} for it in range(16)]

    async def go():
        taken = Turns()

        async def answer(_query):
            return {"rows": Batches(batches(), taken)}

        async with serving(taken, rows=answer) as dial:
            other = neighbour(lambda: made)
            living = asyncio.ensure_future(other.live())
            document = json.loads(await ask(dial, "/rows"))
            other.stop()
            await living
            return other, document

    other, document = asyncio.run(go())
    assert [it["number"] for it in document["rows"]] == list(range(10_000))
    assert other.most == 1


@pytest.mark.parametrize("said", [b"", b"GET /heal", request("/healthz", last=False)])
def test_idle_connections_make_room_for_a_probe(said):
    """Whether they said nothing, half a request, or were answered and stay."""

    async def go():
        async with serving(healthz=healthy) as dial:
            idle = [await dial() for _ in range(CONNECTIONS_MAX)]
            for _, writer in idle:
                writer.write(said)
            answers = [await ask(dial, "/healthz") for _ in range(5)]
            await idle[0][0].read(-1)
            oldest_ended = idle[0][0].at_eof()
            for _, writer in idle:
                writer.close()
            return answers, oldest_ended

    answers, oldest_ended = asyncio.run(go())
    assert [json.loads(it) for it in answers] == [{"status": "ok"}] * 5
    assert oldest_ended


def test_who_is_answered_stays_while_others_are_idle():
    async def go():
        gate = asyncio.Event()

        async def slow(_query):
            await gate.wait()
            return {"status": "slow"}

        async with serving(slow=slow, healthz=healthy) as dial:
            asked = asyncio.ensure_future(ask(dial, "/slow"))
            idle = [await dial() for _ in range(CONNECTIONS_MAX + 20)]
            gate.set()
            answer = await asked
            for _, writer in idle:
                writer.close()
            return answer

    assert json.loads(asyncio.run(go())) == {"status": "slow"}
