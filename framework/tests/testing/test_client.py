"""The raw client of the test kit, held against a bare socket."""

from __future__ import annotations

import selectors
import socket
from typing import TYPE_CHECKING

import pytest

from framework.testing import RawClient

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """Return a socket that listens and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as it:
        yield it


def test_a_read_waits_as_long_as_the_client_was_told(listener: socket.socket) -> None:
    client = RawClient(listener.getsockname()[1], timeout_s=0.01)
    with client, pytest.raises(TimeoutError):
        client.read()


def test_a_selector_takes_a_client(listener: socket.socket) -> None:
    with RawClient(listener.getsockname()[1]) as client, selectors.DefaultSelector() as selector:
        server, _ = listener.accept()
        with server:
            selector.register(client, selectors.EVENT_READ)
            server.sendall(b"PING\r\n")

            assert [it.fileobj for it, _ in selector.select()] == [client]


def test_a_connection_that_is_shut_down_ends_at_the_server(listener: socket.socket) -> None:
    with RawClient(listener.getsockname()[1]) as client:
        server, _ = listener.accept()
        with server:
            client.shut_down()

            assert server.recv(1) == b""
