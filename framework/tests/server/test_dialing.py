from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from typing import TYPE_CHECKING, Any

import pytest

from framework.server import dialing
from framework.server.dialing import Dialer
from framework.spec import Admitted, DialFailed, LinkKind

if TYPE_CHECKING:
    from collections.abc import Iterator


async def turn() -> None:
    """Let every task go as far as it can at once."""
    loop = asyncio.get_running_loop()
    over = loop.create_future()
    loop.call_soon(over.set_result, None)
    await over


class AdoptingPlane:
    def __init__(self) -> None:
        self.adopted: list[tuple[LinkKind, int]] = []
        self.done = asyncio.Event()

    def adopt(
        self, sock: socket.socket, kind: LinkKind, token: int, *, peer: tuple[str, int], **_: object
    ) -> None:
        assert sock.getpeername()[:2] == peer
        self.adopted.append((kind, token))
        self.done.set()


async def dial(
    host: str, port: int, timeout_s: float = 5.0, **options: Any
) -> tuple[list[Any], list[Any]]:
    plane, reports = AdoptingPlane(), []

    def report(kind: LinkKind, failed: DialFailed) -> None:
        reports.append((kind, failed))
        plane.done.set()

    dialer = Dialer(plane, report=report)  # type: ignore[arg-type]
    dialer.dial(host, port, LinkKind.ROUTE, 7, timeout_s, **options)
    await plane.done.wait()
    await dialer.stop()
    return plane.adopted, reports


def test_a_connection_goes_to_the_plane() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        adopted, reports = asyncio.run(dial("localhost", listener.getsockname()[1]))

    assert adopted == [(LinkKind.ROUTE, 7)]
    assert reports == []


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    adopted, reports = asyncio.run(dial("127.0.0.1", port))

    assert adopted == []
    error = f"dial tcp 127.0.0.1:{port}: connect: connection refused"
    assert reports == [(LinkKind.ROUTE, DialFailed(7, error))]


class Tunnel:
    """Asks for a way on, and takes a line for a yes."""

    def __init__(self) -> None:
        self.heard = b""

    def begin(self) -> bytes:
        return b"on\n"

    def receive(self, data: bytes) -> Admitted | None:
        self.heard += data
        return Admitted() if data.endswith(b"\n") else None


def test_what_comes_behind_a_tunnel_is_the_link_s() -> None:
    tunnel, left = Tunnel(), []

    def lead_on(listener: socket.socket) -> None:
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.recv(100) == b"on\n"
            accepted.sendall(b"yes\nINFO")

    async def run(port: int) -> None:
        plane = AdoptingPlane()

        def adopt(sock: socket.socket, *_: object, **__: object) -> None:
            sock.settimeout(5.0)
            left.append(sock.recv(100))
            plane.done.set()

        plane.adopt = adopt  # type: ignore[method-assign]
        dialer = Dialer(plane, report=lambda *_: plane.done.set())  # type: ignore[arg-type]
        dialer.dial("127.0.0.1", port, LinkKind.LEAF, 7, 5.0, tunnel=tunnel)  # type: ignore[arg-type]
        await plane.done.wait()
        await dialer.stop()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=lead_on, args=(listener,))
        thread.start()
        asyncio.run(run(listener.getsockname()[1]))
        thread.join()

    assert (tunnel.heard, left) == (b"yes\n", [b"INFO"])


def test_every_address_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        addresses = [silent.getsockname(), listener.getsockname()]
        found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", it) for it in addresses]
        monkeypatch.setattr(dialing.socket, "getaddrinfo", lambda *_, **__: found)
        adopted, reports = asyncio.run(dial("two.example", 1))

    assert adopted == [(LinkKind.ROUTE, 7)]
    assert reports == []


@pytest.mark.parametrize("host", ["no.such.host.invalid", "x" * 300])
def test_a_name_that_is_none(host: str) -> None:
    _, reports = asyncio.run(dial(host, 1))

    assert reports[0][1].error.startswith(f"lookup {host}: ")


# -- a name of three servers

HOSTS = ("127.0.0.9", "::1", "127.0.0.2")


@pytest.fixture
def listeners(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[socket.socket]]:
    """Listen at all addresses of a name, of which the resolver tells in no good order."""
    found: list[Any] = []
    monkeypatch.setattr(dialing.socket, "getaddrinfo", lambda *_, **__: found)
    with contextlib.ExitStack() as stack:
        sockets = []
        for host in HOSTS:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            sock = stack.enter_context(socket.create_server((host, 0), family=family))
            sock.settimeout(0)
            sockets.append(sock)
            found.append((family, socket.SOCK_STREAM, 6, "", sock.getsockname()))
        yield sockets


def reached(sockets: list[socket.socket]) -> list[str]:
    hosts = []
    for sock in sockets:
        with contextlib.suppress(BlockingIOError):
            accepted, _ = sock.accept()
            accepted.close()
            hosts.append(sock.getsockname()[0])
    return hosts


@pytest.mark.parametrize(
    ("avoided", "turn", "expected"),
    [
        ((), 0, "127.0.0.2"),
        ((), 1, "127.0.0.9"),
        ((), 2, "::1"),
        ((), 3, "127.0.0.2"),
        (["127.0.0.2"], 0, "127.0.0.9"),
        (["127.0.0.2"], 1, "::1"),
        (["127.0.0.2", "127.0.0.9"], 5, "::1"),
    ],
)
def test_addresses_have_one_order_everywhere(
    listeners: list[socket.socket], avoided: tuple[str, ...], turn: int, expected: str
) -> None:
    adopted, _ = asyncio.run(dial("three.example", 1, avoided=avoided, turn=turn))

    assert adopted == [(LinkKind.ROUTE, 7)]
    assert reached(listeners) == [expected]


@pytest.mark.usefixtures("listeners")
def test_no_address_is_left() -> None:
    adopted, reports = asyncio.run(dial("three.example", 1, avoided=HOSTS))

    assert adopted == []
    error = "lookup three.example: no other address"
    assert reports == [(LinkKind.ROUTE, DialFailed(7, error, none_left=True))]


def test_a_resolver_may_take_longer_than_connecting(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", listener.getsockname())]

        def slow(*_: object, **__: object) -> list[Any]:
            threading.Event().wait(0.7)
            return found

        monkeypatch.setattr(dialing.socket, "getaddrinfo", slow)
        adopted, _ = asyncio.run(dial("slow.example", 1, 0.5))

    assert adopted == [(LinkKind.ROUTE, 7)]


def test_a_resolver_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()
    monkeypatch.setattr(dialing, "RESOLVE_TIMEOUT_S", 0.01)
    monkeypatch.setattr(dialing.socket, "getaddrinfo", lambda *_, **__: over.wait())

    async def go() -> list[Any]:
        try:
            return (await dial("mute.example", 1))[1]
        finally:
            over.set()

    assert asyncio.run(go())[0][1].error == "lookup mute.example: i/o timeout"


def test_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(*_: object) -> None:
        await asyncio.Event().wait()

    async def go() -> list[Any]:
        monkeypatch.setattr(asyncio.get_running_loop(), "sock_connect", never, raising=False)
        return (await dial("127.0.0.1", 1, 0.01))[1]

    assert asyncio.run(go())[0][1].error == "dial tcp 127.0.0.1:1: i/o timeout"


def test_a_stop_gives_up_what_is_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(*_: object) -> None:
        await asyncio.Event().wait()

    async def go() -> list[Any]:
        monkeypatch.setattr(asyncio.get_running_loop(), "sock_connect", never, raising=False)
        reports: list[Any] = []
        dialer = Dialer(AdoptingPlane(), report=lambda *it: reports.append(it))  # type: ignore[arg-type]
        dialer.dial("127.0.0.1", 1, LinkKind.ROUTE, 7, 5.0)
        await turn()
        await dialer.stop()
        return reports

    assert asyncio.run(go()) == []
