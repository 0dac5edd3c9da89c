"""Links of real planes that get a codec: from the greeting to the stop of the server."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import inspect
import os
import socket
import threading
import zlib
from functools import partial

import psutil
import pytest
from structlog.testing import CapturingLogger

from framework.dataplane import Closed, Greeting, LinkKind, Opened, Plane, PlaneLimits
from framework.server.bridge import Bridge
from framework.server.compression import LinkCodecs
from framework.server.compression.codec_channel import HEADER
from framework.spec import Codec
from framework.tests.server.compression.codecs import DEFLATE, decoding, frame
from framework.wire.closed_state import ClosedState

WAIT_S = 10.0
INFO = b'INFO {"server_id":"S"} \r\n'
SECOND_INFO = b'INFO {"server_id":"S","second":true} \r\n'


class Log(CapturingLogger):
    """Remembers lines with what they are bound to."""

    def __init__(self, lines=None, **fields):
        self.lines, self._fields = [] if lines is None else lines, fields

    def bind(self, **fields):
        return Log(self.lines, **self._fields, **fields)

    def error(self, event, **fields):
        self.lines.append((event.format(**fields), self._fields))


class Home:
    """A server with routes that all get a codec: plane, bridge, link codecs, and an owner."""

    def __init__(self, codec, limits):
        self.codec = codec
        self.plane = Plane(limits)
        self.log = Log()
        self.link_codecs = LinkCodecs(self.plane, log=self.log)
        self.bridge = Bridge(self.plane, transports=(self.link_codecs,), log=self.log)
        self.closed: asyncio.Queue[Closed] = asyncio.Queue()
        self.registered: asyncio.Queue[int] = asyncio.Queue()
        self.addresses = {}
        self._listeners = []
        self._dialed = {}
        self._coded = set()
        self._writers = []

    async def __aenter__(self):
        for kind in (LinkKind.CLIENT, LinkKind.ROUTE):
            self.plane.set_info(kind, b'{"server_id":"S"}')
            listener = socket.create_server(("127.0.0.1", 0))
            self.addresses[kind] = listener.getsockname()
            self._listeners.append(listener)
            self.plane.listen(listener, kind)
            self.bridge.set_owner(kind, self)
        self.link_codecs.start()
        self.plane.start()
        self.bridge.start()
        return self

    async def __aexit__(self, *_):
        await asyncio.to_thread(self.plane.stop, WAIT_S)
        self.bridge.turn()
        self.bridge.stop()
        await self.link_codecs.stop(WAIT_S)
        for writer in self._writers:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
        for listener in self._listeners:
            listener.close()

    def dial(self, other):
        sock = socket.create_connection(other.addresses[LinkKind.ROUTE], WAIT_S)
        self.plane.adopt(sock, LinkKind.ROUTE, 1)

    async def connect(self, kind):
        reader, writer = await asyncio.open_connection(*self.addresses[kind])
        self._writers.append(writer)
        await reader.readline()
        return reader, writer

    async def client(self):
        reader, writer = await self.connect(LinkKind.CLIENT)
        writer.write(b'CONNECT {"verbose":false}\r\nPING\r\n')
        assert await asyncio.wait_for(reader.readline(), WAIT_S) == b"PONG\r\n"
        assert (await asyncio.wait_for(reader.readline(), WAIT_S)).startswith(b"INFO ")
        return reader, writer

    def watch_pressure(self, callback):
        """It always has room."""

    def tell(self, message):
        for event in message.events:
            match event:
                case Opened(kind=LinkKind.ROUTE):
                    self._dialed[event.link] = event.token
                case Greeting(kind=LinkKind.CLIENT):
                    self.plane.resume_client(
                        event.link, verbose=False, pedantic=False, echo=True, headers=True,
                        no_responders=True, protocol=1,
                    )  # fmt: skip
                case Greeting(verb="CONNECT"):
                    self.plane.resume(event.link)
                case Greeting():
                    self._introduced(event.link)
                case Closed():
                    self.closed.put_nowait(event)

    def _introduced(self, link):
        is_dialed = self._dialed[link]
        if link not in self._coded:
            self._coded.add(link)
            if is_dialed:
                self.plane.send(link, b"CONNECT {}\r\n" + INFO)
            self.link_codecs.encode(link, self.codec)
            if not is_dialed:
                self.plane.send(link, INFO)
            return
        if is_dialed:
            self.plane.send(link, SECOND_INFO)
        self.plane.register_peer(link)
        self.registered.put_nowait(link)


@contextlib.asynccontextmanager
async def homes(count=2, codec=DEFLATE, limits=None):
    async with contextlib.AsyncExitStack() as stack:
        limits = limits or PlaneLimits()
        yield [await stack.enter_async_context(Home(codec, limits)) for _ in range(count)]


async def joined(one, other):
    one.dial(other)
    for home in (one, other):
        await asyncio.wait_for(home.registered.get(), WAIT_S)


async def peer_of(home, behind=b""):
    """Dial as a server that says something in frames right behind its INFO."""
    reader, writer = await home.connect(LinkKind.ROUTE)
    writer.write(b"CONNECT {}\r\n" + INFO + behind)
    return reader, writer


async def frame_of(reader):
    async with asyncio.timeout(WAIT_S):
        plain, encoded, checksum = HEADER.unpack(await reader.readexactly(HEADER.size))
        data = zlib.decompress(await reader.readexactly(encoded))
    assert (len(data), zlib.crc32(data)) == (plain, checksum)
    return data


async def cross(one, other, payload, count=1):
    """Publish at one server, and subscribe at another."""
    reader, writer = await other.client()
    writer.write(b"SUB news 1\r\nPING\r\n")
    await reader.readline()
    _, publisher = await one.client()
    answers, answering = await one.client()
    answering.write(b"SUB ready 1\r\n")
    # Interest and messages go the same way: who hears of the one has had the other.
    while True:
        writer.write(b"PUB ready 0\r\n\r\n")
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(answers.readline(), 0.05)
            break
    message = b"PUB news %d\r\n%s\r\n" % (len(payload), payload)
    publisher.write(message * count)
    got = b"MSG news 1 %d\r\n%s\r\n" % (len(payload), payload)
    async with asyncio.timeout(WAIT_S):
        received = await reader.readexactly(len(got) * count)
    assert received == got * count


def run(test):
    """Run an async test, and look that it has left no thread and no descriptor."""

    def runner(*arguments, **keywords):
        gc.collect()
        process = psutil.Process()
        before = threading.active_count(), process.num_fds()

        async def go():
            await test(*arguments, **keywords)
            await asyncio.get_running_loop().shutdown_default_executor()

        asyncio.run(go())
        gc.collect()

        assert (threading.active_count(), process.num_fds()) == before

    runner.__name__ = test.__name__
    runner.__signature__ = inspect.signature(test)
    return runner


@run
async def test_messages_cross_a_link_that_is_encoded():
    async with homes() as (one, other):
        await joined(one, other)
        await cross(one, other, b'{"orderid":7}' * 9, count=1000)
        await cross(other, one, bytes(300_000), count=10)


@run
async def test_what_a_peer_says_behind_its_info_is_decoded_already():
    async with homes(1) as (home,):
        reader, writer = await peer_of(home, frame(SECOND_INFO[:9]) + frame(SECOND_INFO[9:]))
        await asyncio.wait_for(home.registered.get(), WAIT_S)

        assert (await frame_of(reader)).startswith(INFO)

        writer.write(frame(b"PING\r\n"))
        said = b""
        while b"PONG\r\n" not in said:
            said += await frame_of(reader)
        writer.close()
        await asyncio.wait_for(home.closed.get(), WAIT_S)


@pytest.mark.parametrize(
    ("behind", "problem"),
    [
        (frame(b"x", checksum=1), "codec deflate: bad checksum"),
        (SECOND_INFO, "codec deflate: a frame of 1330007625 bytes in 19"),
        (frame(bytes(200_000), plain=100), "codec deflate: can't decode: ValueError: memoryview"),
    ],
)
@run
async def test_a_peer_that_breaks_the_rules_is_closed_with_a_line_in_the_log(behind, problem):
    async with homes() as (home, other):
        await joined(home, other)
        reader, _ = await peer_of(home, behind)
        closed = await asyncio.wait_for(home.closed.get(), WAIT_S)
        await reader.read()

        assert closed.reason is ClosedState.READ_ERROR
        [(text, fields)] = home.log.lines
        assert text.startswith(problem)
        assert fields == {"remote": f"{closed.row.host}:{closed.row.port}", "rid": closed.row.cid}

        await cross(home, other, b"undisturbed")


def fails(*_):
    raise RuntimeError("out of order")


@run
async def test_a_codec_that_fails_ends_its_link_only():
    for codec, problem in [
        (decoding(fails), "codec bad: can't decode: RuntimeError: out of order"),
        (Codec("bad", lambda: fails, DEFLATE.new_decoder), "codec bad: can't encode: Runtime"),
        (Codec("bad", fails, fails), "codec bad: can't begin: RuntimeError('out of order')"),
    ]:
        async with homes(1, codec) as (home,):
            await peer_of(home, frame(SECOND_INFO))
            closed = await asyncio.wait_for(home.closed.get(), WAIT_S)

            assert closed.reason is ClosedState.READ_ERROR
            assert home.log.lines[0][0].startswith(problem)

            await home.client()


@run
async def test_a_peer_that_takes_nothing_is_cut_off_as_any_other():
    limits = PlaneLimits(max_pending=1 << 20, write_deadline_s=0.2)
    async with homes(1, limits=limits) as (home,):
        await peer_of(home, frame(SECOND_INFO + b"RS+ $G news\r\n"))
        link = await asyncio.wait_for(home.registered.get(), WAIT_S)
        _, publisher = await home.client()
        payload = os.urandom(900_000)
        message = b"PUB news %d\r\n%s\r\n" % (len(payload), payload)
        closing = asyncio.ensure_future(home.closed.get())
        while not closing.done():
            publisher.write(message)
            await asyncio.wait({asyncio.ensure_future(publisher.drain()), closing}, timeout=0.05)

        assert closing.result().link == link
        assert closing.result().reason in {
            ClosedState.SLOW_CONSUMER_PENDING_BYTES,
            ClosedState.SLOW_CONSUMER_WRITE_DEADLINE,
        }

        await home.client()


@run
async def test_a_link_that_ends_before_its_socket_has_come_is_forgotten():
    async with homes(1) as (home,):
        home.link_codecs.encode = partial(encode_too_late, home)
        reader, _ = await peer_of(home)
        closed = await asyncio.wait_for(home.closed.get(), WAIT_S)

        assert closed.reason is ClosedState.CLUSTER_NAMES_IDENTICAL
        assert await reader.read() == b""
        assert not home.link_codecs._wanted
        assert not home.link_codecs._sessions


def encode_too_late(home, link, codec):
    home.plane.close(link, ClosedState.CLUSTER_NAMES_IDENTICAL)
    LinkCodecs.encode(home.link_codecs, link, codec)


@run
async def test_a_server_that_stops_says_what_it_has_said_and_leaves_nothing():
    said = b""
    async with homes(1) as (home,):
        reader, _ = await peer_of(home, frame(SECOND_INFO))
        link = await asyncio.wait_for(home.registered.get(), WAIT_S)
        home.plane.close(link, ClosedState.ROUTE_REMOVED, b"-ERR 'goodbye'\r\n")
        await asyncio.to_thread(home.plane.stop, WAIT_S)
        await home.link_codecs.stop(WAIT_S)
        with contextlib.suppress(asyncio.IncompleteReadError):
            while True:
                said += await frame_of(reader)

    assert said.endswith(b"-ERR 'goodbye'\r\n")


@run
async def test_a_server_that_stops_in_the_middle_of_it_all_leaves_nothing():
    for _ in range(10):
        async with homes() as (one, other):
            one.dial(other)
            await peer_of(other, frame(SECOND_INFO))
            await other.client()


@run
async def test_nothing_is_kept_for_a_link_whose_end_its_owner_has_not_yet_heard_of():
    async with homes(1) as (home,):
        _, writer = await home.connect(LinkKind.ROUTE)
        writer.close()
        closed = await asyncio.wait_for(home.closed.get(), WAIT_S)
        home.link_codecs.encode(closed.link, DEFLATE)

        assert not home.link_codecs._wanted
