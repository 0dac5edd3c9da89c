"""Links whose socket is somebody else's for a while."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

import pytest

from framework.dataplane import (
    Closed,
    Detached,
    Greeting,
    LinkKind,
    Listed,
    Opened,
    Plane,
    PlaneLimits,
    link_rows,
)
from framework.tests.dataplane.watched import Watched
from framework.tests.sockets import WAIT_S, exactly
from framework.wire.closed_state import ClosedState

if TYPE_CHECKING:
    from collections.abc import Iterator

INFO = b'INFO {"server_id":"S","client_id":1,"client_ip":"127.0.0.1"} \r\n'


class Server(Watched):
    """A plane with one listener whose links are handed over."""

    def __init__(self, mode: str, limits: PlaneLimits) -> None:
        super().__init__(Plane(limits))
        self.plane.set_info(LinkKind.CLIENT, b'{"server_id":"S"}')
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = self.listener.getsockname()
        self.plane.listen(self.listener, LinkKind.CLIENT, tls=mode)
        self.plane.start()

    def let_go(self) -> Detached:
        """Wait until a link is without its socket, and close that."""
        detached = self.take(Detached)
        os.close(detached.fd)
        return detached

    def client(self) -> socket.socket:
        sock = socket.create_connection(self.address, WAIT_S)
        sock.settimeout(WAIT_S)
        return sock


@pytest.fixture(params=[PlaneLimits()])
def limits(request: pytest.FixtureRequest) -> PlaneLimits:
    return request.param


@pytest.fixture
def start(limits: PlaneLimits) -> Iterator[object]:
    servers: list[Server] = []

    def begin(mode: str) -> Server:
        servers.append(Server(mode, limits))
        return servers[-1]

    yield begin
    for server in servers:
        server.plane.stop(WAIT_S)
        for event in [*server.waiting, *server.plane.take_events()]:
            if isinstance(event, Detached):
                os.close(event.fd)
        server.listener.close()


def expect(sock: socket.socket, data: bytes) -> None:
    assert data == exactly(sock, len(data))


def test_info_goes_before_the_socket_is_handed_over(start):
    server = start("after_info")
    with server.client() as client:
        expect(client, INFO)
        opened = server.take(Opened)
        detached = server.take(Detached)
        with socket.socket(fileno=detached.fd) as sock:
            assert (opened.link, opened.cid) == (detached.link, detached.cid)
            assert (detached.host, detached.port) == client.getsockname()
            assert detached.informed
            assert sock.getpeername() == client.getsockname()


def test_a_link_goes_on_with_another_socket(start):
    server = start("after_info")
    ours, theirs = socket.socketpair()
    with server.client(), ours:
        ours.settimeout(WAIT_S)
        detached = server.let_go()
        server.plane.attach(detached.link, theirs)
        ours.sendall(b"CONNECT {}\r\n")

        assert server.take(Greeting).link == detached.link


def test_info_waits_for_the_other_socket(start):
    server = start("first")
    ours, theirs = socket.socketpair()
    with server.client(), ours:
        ours.settimeout(WAIT_S)
        detached = server.let_go()

        assert not detached.informed

        server.plane.attach(detached.link, theirs)
        expect(ours, INFO)


def test_info_may_be_said_and_the_socket_handed_over_again(start):
    server = start("first")
    with server.client() as client:
        first = server.take(Detached)
        server.plane.attach(first.link, socket.socket(fileno=first.fd), detach=True)
        expect(client, INFO)
        again = server.let_go()

        assert first.link == again.link
        assert again.informed


def test_a_link_may_get_its_own_socket_back(start):
    server = start("after_info")
    with server.client() as client:
        detached = server.take(Detached)
        client.sendall(b"CONNECT {}\r\n")
        server.plane.attach(detached.link, socket.socket(fileno=detached.fd))

        assert server.take(Greeting).link == detached.link


def test_the_socket_of_a_link_that_is_gone_is_closed(start):
    server = start("after_info")
    ours, theirs = socket.socketpair()
    with server.client(), ours:
        ours.settimeout(WAIT_S)
        detached = server.let_go()
        server.plane.close(detached.link, ClosedState.TLS_HANDSHAKE_ERROR)

        assert server.take(Closed).reason is ClosedState.TLS_HANDSHAKE_ERROR

        server.plane.attach(detached.link, theirs)

        assert ours.recv(1) == b""


@pytest.mark.parametrize(
    "limits", [PlaneLimits(auth_required=True, auth_timeout_s=0.001)], indirect=True
)
def test_the_time_to_log_in_begins_with_the_other_socket(start):
    server = start("after_info")
    ours, theirs = socket.socketpair()
    with server.client(), server.client(), ours:
        ours.settimeout(WAIT_S)
        detached = server.let_go()
        # Another link that is detached meanwhile: the clocks were looked at, and nobody was closed.
        server.let_go()
        server.plane.attach(detached.link, theirs)
        expect(ours, b"-ERR 'Authentication Timeout'\r\n")

        assert server.take(Closed).link == detached.link


@pytest.mark.parametrize("limits", [PlaneLimits(max_connections=1)], indirect=True)
def test_one_connection_too_many_is_told_so_in_plain(start):
    server = start("after_info")
    with server.client() as first, server.client() as second:
        server.let_go()
        expect(first, INFO)
        expect(second, INFO.replace(b'"client_id":1', b'"client_id":2'))
        expect(second, b"-ERR 'maximum connections exceeded'\r\n")

        assert server.take(Closed).reason is ClosedState.MAX_CONNECTIONS_EXCEEDED


def test_tls_may_come_and_go_while_it_listens(start):
    server = start("")
    server.plane.set_tls(LinkKind.CLIENT, "first")
    server.plane.open_listing(1, links=True)
    server.plane.next_rows(1, 1)
    with server.client():
        detached = server.let_go()

        assert not detached.informed


def test_a_peer_may_be_named_whose_socket_does_not_know(start):
    server = start("")
    ours, theirs = socket.socketpair()
    with ours:
        server.plane.adopt(theirs, LinkKind.ROUTE, 7, peer=("10.1.2.3", 6222))
        opened = server.take(Opened)

        assert (opened.host, opened.port, opened.token) == ("10.1.2.3", 6222, 7)


def greeted(server, client, said):
    """Let a client say something; return its link, which is parked."""
    expect(client, INFO)
    client.sendall(said)
    return server.take(Greeting).link


def test_what_stood_behind_a_greeting_goes_with_the_socket(start):
    server = start("")
    ours, theirs = socket.socketpair()
    with server.client() as client, ours:
        link = greeted(server, client, b'CONNECT {"name":"a"}\r\nnobody knows what this means')
        server.plane.send(link, b"+OK\r\n")
        server.plane.detach(link)
        detached = server.take(Detached)
        expect(client, b"+OK\r\n")

        assert detached.link == link
        assert detached.left == b"nobody knows what this means"

        os.close(detached.fd)
        ours.sendall(b"CONNECT {}\r\n")
        server.plane.attach(link, theirs)

        assert server.take(Greeting).document == b"{}"


def test_what_is_said_while_a_socket_is_away_goes_through_the_next_one(start):
    server = start("")
    ours, theirs = socket.socketpair()
    with server.client() as client, ours:
        ours.settimeout(WAIT_S)
        link = greeted(server, client, b"CONNECT {}\r\n")
        server.plane.detach(link)
        server.plane.send(link, b"+OK\r\n")
        server.let_go()
        server.plane.attach(link, theirs)
        expect(ours, b"+OK\r\n")


def test_a_socket_goes_when_the_peer_has_taken_what_was_said(start):
    server = start("")
    said = bytes(range(256)) * 65_536
    with server.client() as client:
        link = greeted(server, client, b"CONNECT {}\r\nof another kind\r\n")
        server.plane.send(link, said)
        server.plane.detach(link)
        server.plane.resume(link)
        server.plane.open_listing(7, links=True)
        server.plane.next_rows(7, 7)

        assert link_rows(server.take(Listed).data)[0].pending_bytes

        expect(client, said)
        detached = server.let_go()

        assert detached.left == b"of another kind\r\n"
        assert client.recv(1) == b""


def test_a_peer_that_goes_instead_of_taking_what_was_said_is_closed(start):
    server = start("")
    with server.client() as client:
        link = greeted(server, client, b"CONNECT {}\r\n")
        server.plane.send(link, bytes(1 << 24))
        server.plane.detach(link)
        client.close()

        assert server.take(Closed).link == link


def test_a_link_that_waits_for_nothing_keeps_its_socket(start):
    server = start("")
    with server.client() as client:
        expect(client, INFO)
        link = server.take(Opened).link
        server.plane.detach(link)
        client.sendall(b"CONNECT {}\r\n")

        assert server.take(Greeting | Detached) == Greeting(
            link, LinkKind.CLIENT, "CONNECT", b"{}", parked=True
        )

        server.plane.detach(link)
        server.plane.detach(link)
        server.plane.detach(12345)
        server.let_go()
        server.plane.close(link, ClosedState.CLIENT_CLOSED)

        assert isinstance(server.take(Closed | Detached), Closed)
