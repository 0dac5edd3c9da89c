from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from framework.server import dialing
from framework.server.dialing import Dialer
from framework.spec import LinkKind


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
        self, sock: socket.socket, kind: LinkKind, token: int, *, peer: tuple[str, int]
    ) -> None:
        assert sock.getpeername() == peer
        self.adopted.append((kind, token))
        self.done.set()


async def dial(host: str, port: int, timeout_s: float = 5.0) -> tuple[list[Any], list[Any]]:
    plane, reports = AdoptingPlane(), []

    def report(kind: LinkKind, token: int, error: str) -> None:
        reports.append((kind, token, error))
        plane.done.set()

    dialer = Dialer(plane, report=report)  # type: ignore[arg-type]
    dialer.dial(host, port, LinkKind.ROUTE, 7, timeout_s)
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
    assert reports == [
        (LinkKind.ROUTE, 7, f"dial tcp 127.0.0.1:{port}: connect: connection refused")
    ]


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

    assert reports[0][2].startswith(f"lookup {host}: ")


def test_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(*_: object) -> None:
        await asyncio.Event().wait()

    async def go() -> list[Any]:
        monkeypatch.setattr(asyncio.get_running_loop(), "sock_connect", never, raising=False)
        return (await dial("127.0.0.1", 1, 0.01))[1]

    assert asyncio.run(go())[0][2] == "dial tcp 127.0.0.1:1: i/o timeout"


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
