"""Ends of planes and of their sockets, on both pollers."""

from __future__ import annotations

import gc
import socket
import struct

import pytest

from framework.dataplane import (
    Closed,
    ErrReceived,
    Greeting,
    LinkKind,
    Opened,
    PeerTerms,
    Plane,
    PlaneLimits,
)
from framework.tests.dataplane.watched import CURRENT, Watched
from framework.tests.sockets import WAIT_S, tcp_pair


def _bound() -> tuple[socket.socket, int]:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", 0))
    return listener, listener.getsockname()[1]


@pytest.mark.parametrize("poller", ["epoll", "poll"])
@pytest.mark.parametrize("end", ["reset", "close"])
def test_who_hangs_up_while_it_is_parked_is_still_heard(poller: str, end: str) -> None:
    plane = Plane(PlaneLimits(), poller=poller)
    listener, port = _bound()
    plane.listen(listener, LinkKind.CLIENT)
    listener.close()
    plane.start()
    if end == "reset":
        client = socket.create_connection(("127.0.0.1", port))
    else:
        near, client = socket.socketpair()
        plane.adopt(near, LinkKind.CLIENT, 1)
    client.sendall(b"CONNECT {}\r\nPUB a 1\r\nx\r\n")
    watched = Watched(plane)
    greeting = watched.take(Greeting)
    if end == "reset":
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()
    plane.resume_client(greeting.link, **CURRENT)
    closed = watched.take(Closed)
    plane.stop(WAIT_S)

    assert (greeting.link, 1) == (closed.link, closed.row.in_msgs)


@pytest.mark.parametrize("poller", ["epoll", "poll"])
def test_why_a_route_was_closed_is_heard_though_it_was_written_to_before(poller: str) -> None:
    plane = Plane(PlaneLimits(), poller=poller)
    near, peer = tcp_pair()
    plane.adopt(near, LinkKind.ROUTE, 1)
    plane.start()
    watched = Watched(plane)
    link = watched.take(Opened).link
    peer.sendall(b'INFO {"server_id":"NB"}\r\n')
    watched.take(Greeting)
    plane.send(link, b"CONNECT {}\r\n")
    assert peer.recv(1, socket.MSG_PEEK)
    peer.sendall(b"-ERR 'Authorization Violation'\r\n")
    peer.close()  # with something unread: a reset
    plane.send(link, b"INFO {}\r\n")
    plane.register_peer(link, PeerTerms(peer=1))
    said = watched.take(ErrReceived)
    closed = watched.take(Closed)
    plane.stop(WAIT_S)

    assert (b"Authorization Violation", link) == (said.text, closed.link)


def test_many_that_are_busy_starve_nobody_where_there_is_no_epoll() -> None:
    plane = Plane(PlaneLimits(), poller="poll")
    listener, port = _bound()
    listener.listen(400)
    plane.listen(listener, LinkKind.CLIENT)
    listener.close()
    peers = [socket.create_connection(("127.0.0.1", port)) for _ in range(300)]
    for peer in peers[:-1]:
        peer.sendall(b"+OK\r\n" * 40_000 + b"CONNECT {}\r\n")
    peers[-1].sendall(b"CONNECT {}\r\n")
    plane.start()
    greeting = Watched(plane).take(Greeting)
    plane.stop(WAIT_S)
    for peer in peers:
        peer.close()

    assert 299 == greeting.link & 0xFFFFFFFF


def test_a_plane_is_started_once() -> None:
    plane = Plane(PlaneLimits())
    plane.stop(WAIT_S)
    plane.start()
    with pytest.raises(RuntimeError, match="before"):
        plane.start()
    plane.stop(WAIT_S)
    plane.stop(WAIT_S)
    with pytest.raises(RuntimeError, match="before"):
        plane.start()


def test_a_plane_that_was_never_started_gives_its_sockets_back() -> None:
    plane = Plane(PlaneLimits())
    listener, port = _bound()
    plane.listen(listener, LinkKind.CLIENT)
    listener.close()
    near, far = socket.socketpair()
    plane.adopt(near, LinkKind.CLIENT, 1)
    del plane
    gc.collect()
    again = socket.socket()
    again.bind(("127.0.0.1", port))
    far.settimeout(WAIT_S)

    assert b"" == far.recv(1)
    again.close()
    far.close()


def test_a_plane_that_has_ended_closes_what_it_is_given() -> None:
    plane = Plane(PlaneLimits())
    plane.start()
    plane.stop(WAIT_S)
    near, far = socket.socketpair()
    plane.adopt(near, LinkKind.CLIENT, 1)
    far.settimeout(WAIT_S)

    assert b"" == far.recv(1)
    far.close()


def test_one_listener_too_many_is_refused() -> None:
    plane = Plane(PlaneLimits())
    listeners = [_bound()[0] for _ in range(65)]
    for listener in listeners[:64]:
        plane.listen(listener, LinkKind.CLIENT)
    with pytest.raises(ValueError, match="at most 64"):
        plane.listen(listeners[64], LinkKind.CLIENT)
    plane.unlisten(LinkKind.CLIENT)
    plane.listen(listeners[64], LinkKind.CLIENT)
    plane.start()
    client = socket.create_connection(listeners[64].getsockname())

    assert isinstance(Watched(plane).take(Opened), Opened)
    client.close()
    plane.stop(WAIT_S)
    for listener in listeners:
        listener.close()


def test_sockets_of_clients_may_be_left_open_and_are_told_all_that_waits() -> None:
    plane = Plane(PlaneLimits())
    (client, peer), (route, other), (unix, unix_peer) = tcp_pair(), tcp_pair(), socket.socketpair()
    plane.adopt(client, LinkKind.CLIENT, 1)
    plane.adopt(route, LinkKind.ROUTE, 2)
    plane.adopt(unix, LinkKind.CLIENT, 3)
    plane.start()
    watched = Watched(plane)
    links = {it.token: it.link for it in (watched.take(Opened) for _ in range(3))}
    plane.send(links[1], b"all\r\n")

    kept = [socket.socket(fileno=fd) for fd in plane.stop(WAIT_S, keep_sockets=True)]

    with peer, other, unix_peer:
        assert [it.getpeername() for it in kept] == [peer.getsockname()]
        peer.settimeout(WAIT_S)
        assert (other.recv(99), unix_peer.recv(99)) == (b"", b"")
        assert peer.recv(5) == b"all\r\n"
        kept.pop().close()
        assert peer.recv(99) == b""
