"""A wire that is looked at, cut and made long carries everything, in order."""

from __future__ import annotations

import contextlib
import gc
import socket

import pytest

from framework.testing import TcpProxy


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(20)
        yield listener


@pytest.fixture
def proxy(listener):
    with TcpProxy(listener.getsockname()[1]) as proxy:
        yield proxy


@pytest.fixture
def dial(proxy, listener):
    opened = []

    def dial():
        near = socket.create_connection(("127.0.0.1", proxy.port), 20)
        far, address = listener.accept()
        far.settimeout(20)
        opened.extend((near, far))
        return near, far, address

    yield dial
    for each in opened:
        each.close()


def read(end, count):
    """Return so many bytes, or fewer and the connection has ended."""
    data = b""
    with contextlib.suppress(ConnectionResetError):
        while len(data) < count and (more := end.recv(1 << 16)):
            data += more
    return data


def test_it_passes_and_keeps_what_goes_by(proxy, dial):
    near, far, address = dial()
    near.sendall(b"there")
    far.sendall(b"and back")

    assert (b"there", b"and back") == (read(far, 5), read(near, 8))
    (seen,) = proxy.open_connections()
    assert (b"there", b"and back") == (bytes(seen.dialed), bytes(seen.answered))
    assert address[1] == seen.port


def test_a_long_wire_keeps_the_order_and_delivers_the_end(proxy, dial):
    near, far, _ = dial()
    proxy.delay_s = 0.05
    near.sendall(b"one")
    proxy.wait(lambda: proxy.connections[0].dialed_bytes == 3, "one")
    proxy.delay_s = 0.0
    near.sendall(b"two")
    near.close()

    assert b"onetwo" == read(far, 100)


def test_one_connection_is_cut_and_others_stay(proxy, dial):
    near, far, _ = dial()
    other_near, other_far, _ = dial()
    proxy.connections[0].cut()

    assert (b"", b"") == (read(near, 1), read(far, 1))
    other_near.sendall(b"x")
    assert b"x" == read(other_far, 1)
    assert [1] == [each.index for each in proxy.open_connections()]


def test_it_lets_nobody_in_where_it_is_told_so(proxy):
    proxy.is_refusing = True
    with socket.create_connection(("127.0.0.1", proxy.port), 20) as near:
        assert b"" == read(near, 1)


def stop_amid_dials():
    """Stop a proxy that connects to a server which takes nobody any more."""
    with (
        socket.create_server(("127.0.0.1", 0), backlog=0) as full,
        TcpProxy(full.getsockname()[1]) as proxy,
        contextlib.ExitStack() as stack,
    ):
        for _ in range(4):
            stack.enter_context(socket.create_connection(("127.0.0.1", proxy.port), 20))
        proxy.wait(lambda: len(proxy.connections) == 4, "all four")
        proxy.stop()


def test_nothing_is_left_of_a_dial_that_nobody_answers(caplog):
    stop_amid_dials()
    gc.collect()

    assert caplog.messages == []


def test_nothing_is_left_of_who_comes_while_it_stops():
    for _ in range(20):
        proxy = TcpProxy()
        with contextlib.ExitStack() as stack:
            for _ in range(3):
                client = stack.enter_context(socket.socket())
                client.settimeout(0)
                client.connect_ex(("127.0.0.1", proxy.port))
            proxy.stop()
    del proxy
    # Sockets that are still open fail this test, as warnings do.
    gc.collect()
