"""A server tells the socket of a service manager what it does."""

from __future__ import annotations

import os
import signal
import socket
from typing import TYPE_CHECKING

import pytest

from framework.server.service_manager import NotifyError, notify

if TYPE_CHECKING:
    from collections.abc import Iterator

    from framework.testing.pytest_plugin import StartServer


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    name = f"framework-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(f"\0{name}")
        receiver.settimeout(20)
        monkeypatch.setenv("NOTIFY_SOCKET", f"@{name}")
        yield receiver


def test_it_is_told_when_clients_may_come_of_reloads_and_of_the_end(
    manager: socket.socket, start_server: StartServer
) -> None:
    server = start_server()
    assert manager.recv(100) == b"READY=1"

    server.signal(signal.SIGHUP)
    reloading, _, moment = manager.recv(100).partition(b"\nMONOTONIC_USEC=")
    assert (reloading, moment.isdigit()) == (b"RELOADING=1", True)
    assert manager.recv(100) == b"READY=1"

    server.signal(signal.SIGTERM)
    assert manager.recv(100) == b"STOPPING=1"
    assert server.wait() == 0


def test_a_socket_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", "/nowhere/notify")

    with pytest.raises(NotifyError, match="NOTIFY_SOCKET"):
        notify("READY=1")


def test_nobody_is_told_without_a_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)

    notify("READY=1")
