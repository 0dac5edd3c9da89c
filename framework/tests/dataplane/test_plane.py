"""The plane with real sockets, on both pollers."""

from __future__ import annotations

import json
import socket
import threading
from typing import TYPE_CHECKING

import pytest

from framework.dataplane import (
    Closed,
    Confirmed,
    Delivered,
    Greeting,
    LinkKind,
    Opened,
    PeerTerms,
    Plane,
    PlaneLimits,
    TapKind,
)
from framework.tests.dataplane.watched import CURRENT, next_events
from framework.tests.sockets import WAIT_S, exactly, line, tcp_pair
from framework.wire.closed_state import ClosedState

if TYPE_CHECKING:
    from collections.abc import Iterator


class Server:
    """A plane that lets every client in."""

    def __init__(self, poller: str, limits: PlaneLimits) -> None:
        self.plane = Plane(limits, poller=poller)
        self.plane.set_info(LinkKind.CLIENT, b'{"server_id":"S"}')
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            self.port = listener.getsockname()[1]
            self.plane.listen(listener, LinkKind.CLIENT)
        self.plane.start()
        self.events: list[object] = []

    def take(self, kind: type, count: int = 1) -> list[object]:
        """Wait until `count` events of a kind have come; log clients in meanwhile."""
        while len(found := [event for event in self.events if isinstance(event, kind)]) < count:
            events = next_events(self.plane, f"more than {len(found)} of {count} {kind.__name__}")
            self.events += events
            for event in events:
                if isinstance(event, Greeting):
                    self.plane.resume_client(event.link, **CURRENT)
        return found

    def client(self) -> socket.socket:
        """Return a client that has logged in."""
        greetings = sum(isinstance(event, Greeting) for event in self.events)
        sock = socket.create_connection(("127.0.0.1", self.port), WAIT_S)
        assert json.loads(line(sock).removeprefix(b"INFO "))["client_ip"] == "127.0.0.1"
        sock.sendall(b"CONNECT {}\r\nPING\r\n")
        self.take(Greeting, greetings + 1)
        assert line(sock) == b"PONG\r\n"
        assert json.loads(line(sock).removeprefix(b"INFO "))["connect_info"]
        return sock


@pytest.fixture(params=["epoll", "poll"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """Return a server that is stopped at the end."""
    made = Server(request.param, PlaneLimits(max_pending=4_000_000))
    yield made
    made.plane.stop(WAIT_S)


def test_messages_pass_between_sockets(server: Server) -> None:
    publisher, subscriber = server.client(), server.client()
    with publisher, subscriber:
        subscriber.sendall(b"SUB a.* 1\r\nPING\r\n")
        assert line(subscriber) == b"PONG\r\n"
        publisher.sendall(b"PUB a.b 5\r\nhello\r\n" * 1000)

        assert b"MSG a.b 1 5\r\nhello\r\n" * 1000 == exactly(subscriber, 20 * 1000)


@pytest.mark.parametrize("size", [100_000, 1_000_000])
def test_large_payloads_pass_between_sockets(server: Server, size: int) -> None:
    publisher, subscriber = server.client(), server.client()
    payload = bytes(range(256)) * (size // 256)
    with publisher, subscriber:
        subscriber.sendall(b"SUB big 1\r\nPING\r\n")
        assert line(subscriber) == b"PONG\r\n"
        for _ in range(3):
            publisher.sendall(b"PUB big %d\r\n%b\r\n" % (len(payload), payload))
            head = b"MSG big 1 %d\r\n" % len(payload)

            assert head + payload + b"\r\n" == exactly(subscriber, len(head) + len(payload) + 2)


def test_a_reader_that_reads_nothing_is_cut_off_and_others_go_on(server: Server) -> None:
    publisher, slow, quick = server.client(), server.client(), server.client()
    with publisher, slow, quick:
        for sock in (slow, quick):
            sock.sendall(b"SUB a 1\r\nPING\r\n")
            assert line(sock) == b"PONG\r\n"
        frame = b"PUB a 100000\r\n" + b"x" * 100_000 + b"\r\n"
        closed: list[object] = []
        sent = 0
        while not closed and sent < 2000:
            publisher.sendall(frame)
            exactly(quick, len(b"MSG a 1 100000\r\n") + 100_002)
            sent += 1
            server.events += server.plane.take_events()
            closed = [event for event in server.events if isinstance(event, Closed)]

        assert [ClosedState.SLOW_CONSUMER_PENDING_BYTES] == [
            event.reason for event in server.take(Closed)
        ]  # type: ignore[attr-defined]


def test_a_hundred_connections_come_and_go(server: Server) -> None:
    sockets = [server.client() for _ in range(100)]
    for sock in sockets:
        sock.close()
    server.take(Closed, 100)

    assert 100 == len({event.link for event in server.take(Opened)})  # type: ignore[attr-defined]
    assert 0 == server.plane.totals().kinds[LinkKind.CLIENT].links


def test_an_adopted_socket_is_a_link(server: Server) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ours = socket.create_connection(listener.getsockname())
        theirs, _ = listener.accept()
    with theirs:
        theirs.settimeout(WAIT_S)
        server.plane.adopt(ours, LinkKind.ROUTE, 42)
        (opened,) = server.take(Opened)
        server.plane.send(opened.link, b"CONNECT {}\r\n")  # type: ignore[attr-defined]

        assert (42, LinkKind.ROUTE) == (opened.token, opened.kind)  # type: ignore[attr-defined]
        assert b"CONNECT {}\r\n" == line(theirs)


def test_stop_closes_everything(server: Server) -> None:
    client = server.client()
    with client:
        server.plane.stop(WAIT_S)

        assert b"" == client.recv(1)
        assert [ClosedState.SERVER_SHUTDOWN] == [event.reason for event in server.take(Closed)]  # type: ignore[attr-defined]
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", server.port))


def route(server: Server) -> tuple[int, socket.socket]:
    """Return a registered route and its other end."""
    ours, theirs = tcp_pair()
    opened = sum(isinstance(event, Opened) for event in server.events)
    server.plane.adopt(ours, LinkKind.ROUTE, 42)
    link: int = server.take(Opened, opened + 1)[-1].link  # type: ignore[attr-defined]
    server.plane.register_peer(link, PeerTerms(peer=1))
    theirs.settimeout(WAIT_S)
    return link, theirs


def test_stop_closes_clients_behind_all_others(server: Server) -> None:
    first = server.client()
    link, peer = route(server)
    last = server.client()
    with first, peer, last:
        server.plane.stop(WAIT_S)
        kinds = [event.row.kind for event in server.take(Closed, 3)]  # type: ignore[attr-defined]

        assert kinds == [LinkKind.ROUTE, LinkKind.CLIENT, LinkKind.CLIENT]
        assert server.take(Closed)[0].link == link  # type: ignore[attr-defined]


def test_what_a_route_had_sent_before_a_stop_is_delivered_whole(server: Server) -> None:
    count = 50_000  # more than a turn's work
    client = server.client()
    _, peer = route(server)
    with client, peer:
        client.sendall(b"".join(b"SUB a %d\r\n" % sid for sid in range(count)) + b"PING\r\n")
        assert line(client) == b"PONG\r\n"
        peer.sendall(b"RMSG $G a 0\r\n\r\n")
        received = client.recv(65_536)
        stopping = threading.Thread(target=server.plane.stop, args=(WAIT_S,))
        stopping.start()
        while chunk := client.recv(1_000_000):
            received += chunk
        stopping.join()

    assert received.count(b"MSG a ") == count


def test_no_more_are_accepted_after_unlisten(server: Server) -> None:
    with server.client() as before:
        server.plane.unlisten(LinkKind.CLIENT)
        before.sendall(b"PING\r\n")
        assert line(before) == b"PONG\r\n"
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", server.port))


def test_the_other_poller_is_named_by_its_name() -> None:
    with pytest.raises(ValueError, match="epoll or poll"):
        Plane(PlaneLimits(), poller="select")  # type: ignore[arg-type]


@pytest.mark.parametrize(("commands", "releases"), [(1, 2), (63, 2), (64, 0), (200, 0)])
def test_commands_that_are_held_come_with_the_release_or_when_there_are_many(
    server: Server, commands: int, releases: int
) -> None:
    plane = server.plane
    server.client().close()
    server.take(Closed)
    for _ in range(2):
        plane.hold()
    for token in range(1, commands + 1):
        plane.confirm(token)
    for _ in range(releases):
        plane.release()
    whole = commands - commands % 64 if not releases else commands

    assert list(range(1, whole + 1)) == [it.token for it in server.take(Confirmed, whole)[:whole]]


def test_who_holds_commands_holds_up_nobody_for_ever(server: Server) -> None:
    """What came before is carried out all the same, and what comes after the release."""
    plane = server.plane
    plane.confirm(1)
    plane.hold()
    plane.release()
    plane.confirm(2)

    assert [1, 2] == [it.token for it in server.take(Confirmed, 2)]


def test_a_tap_hears_what_is_alone_and_all_of_a_flood_in_order(server: Server) -> None:
    """Its batch waits for more while there is more to do: for nothing, when there is not."""
    client = server.client()
    server.plane.subscribe_sink(0, b"a", kind=TapKind.INGRESS, bytes_max=64 << 20)

    def heard() -> list[bytes]:
        return [
            payload
            for event in server.events
            if isinstance(event, Delivered)
            for *_, payload in event.batch.detach()
        ]

    server.plane.confirm(1)
    server.take(Confirmed)
    client.sendall(b"PUB a 5\r\nalone\r\n")
    server.take(Delivered)
    assert [b"alone"] == heard()

    flood = [b"%06d" % number for number in range(50_000)]
    client.sendall(b"".join(b"PUB a 6\r\n%b\r\n" % it for it in flood) + b"PING\r\n")
    assert line(client) == b"PONG\r\n"
    while len(heard()) < 1 + len(flood):
        server.events += next_events(server.plane, "the rest of the flood")

    assert [b"alone", *flood] == heard()
    client.close()
