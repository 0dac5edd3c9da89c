"""The whole plugin, in a real server; the fixtures are those of `framework.testing`."""

from __future__ import annotations

import re
import signal
import socket

import pytest
from framework_lines.channel import Lines

WAIT_S = 20


@pytest.fixture
def start(start_server):
    def begin(more=""):
        return start_server("-m", "-1", config=f'lines {{ listen: "127.0.0.1:-1" }}\n{more}')

    return begin


def connect(server):
    port = int(re.search(r"lines clients on nats://\S*:(\d+)", server.log())[1])
    return socket.create_connection(("127.0.0.1", port), WAIT_S)


def line(sock):
    said = b""
    while not said.endswith(b"\n"):
        more = sock.recv(1)
        assert more, said
        said += more
    return said


def test_lines_and_nats_clients_hear_each_other(start):
    server = start()
    with connect(server) as lines, server.client() as nats:
        nats.log_in()
        nats.send(b"SUB to.nats 1\r\n")
        nats.flush()
        lines.sendall(b"HEAR to.*\nSEND to.nats hello there\n")

        assert nats.expect(b"MSG").body == b"hello there"
        assert line(lines) == b"HEARD to.nats hello there\n"
        nats.send(b"PUB to.lines 2\r\nhi\r\n")
        assert line(lines) == b"HEARD to.lines hi\n"
        (row,) = [it for it in server.document("/connz")["connections"] if it["name"] == "lines"]
        assert (row["subscriptions"], row["in_msgs"]) == (1, 1)


def test_its_clients_log_in_and_have_permissions(start):
    users = "[{user: ann, password: x, permissions: {publish: a}}]"
    server = start(f"authorization {{ users: {users} }}")
    with connect(server) as lines:
        lines.sendall(b"LOGIN ann x\nSEND b nothing\n")

        assert line(lines).startswith(b"ERROR 'Permissions Violation for Publish to \"b\"'")
    with connect(server) as lines:
        lines.sendall(b"LOGIN ann y\n")

        assert line(lines) == b"ERROR 'Authorization Violation'\n"
        assert lines.recv(1) == b""


def test_what_makes_no_sense_is_said_and_the_others_go_on(start):
    server = start()
    with connect(server) as lines, connect(server) as long, connect(server) as other:
        lines.sendall(b"WHAT is this\n")
        long.sendall(b"x" * 10_000)

        assert line(lines) == b"ERROR say LOGIN, SEND or HEAR\n"
        assert long.recv(1) == b""
        other.sendall(b"HEAR a\nSEND a b\n")
        assert line(other) == b"HEARD a b\n"
    server.wait_log("plugin lines: receive_from_peer: ValueError: a line has at most 4096 bytes")


def test_lame_duck_mode_closes_its_clients(start):
    server = start('lame_duck_duration: "30s", lame_duck_grace_period: "1s"')
    with connect(server) as lines:
        lines.sendall(b"HEAR a\nSEND a b\n")
        line(lines)
        server.signal(signal.SIGUSR2)

        assert lines.recv(1) == b""


def test_what_comes_may_end_anywhere():
    channel, said = Lines(), b""
    for byte in b"HEAR a\r\nSEND a b c\n":
        said += channel.receive_from_peer(bytes([byte])).to_server
    heard = b""
    for byte in b"INFO {}\r\nMSG a 1 3\r\nb\nc\r\nPING\r\n":
        heard += channel.receive_from_server(bytes([byte])).to_peer

    assert said.endswith(b"SUB a 1\r\nPUB a 3\r\nb c\r\n")
    assert heard == b"HEARD a b c\n"
