"""Ports of plugins in whole servers: several of a kind, and plugins that fail."""

from __future__ import annotations

import contextlib
import re
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from framework.testing import RawClient
from framework.testing.certificates import Authority
from framework.testing.websocket import FrameReader, frame_bytes
from framework.tests.sockets import WAIT_S

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from framework.testing.server_process import ServerProcess

HEAD = """
from framework.hookspecs import hookimpl
from framework.spec import (
    Admitted, ChannelStage, Coding, Credentials, TlsSettings, Translated, TransportSpec, TurnedAway,
    WebSocketFrames,
)

class Handshake:
    def __init__(self, arrival):
        self.said = b""

    def receive(self, data):
        self.said += data
        if not self.said.endswith(b"!"):
            return None
        words = self.said[:-1]
        if words == b"raise":
            raise RuntimeError("not today")
        if words == b"nonsense":
            return 42
        if words == b"no":
            return TurnedAway(answer=b"no", problem="it was not polite")
        if words == b"stages":
            return Admitted(stages=(WebSocketFrames(), ChannelStage(Echo)))
        return Admitted(answer=b"yes", credentials=Credentials(user=words.decode(), password="x"))

class Echo:
    def receive_from_peer(self, data):
        if b"raise" in data:
            raise RuntimeError("not today")
        if b"nonsense" in data:
            return data
        return Translated(to_server=data.lower())

    def receive_from_server(self, data):
        return Translated(to_peer=data)

@hookimpl
def framework_transports(server):
"""


Start = "Callable[..., ServerProcess]"


@pytest.fixture
def start(
    start_server: Callable[..., ServerProcess], tmp_path: Path
) -> Callable[..., ServerProcess]:
    """Start a server with a plugin whose hook has these lines."""

    def begin(*lines: str, config: str = "") -> ServerProcess:
        plugin = tmp_path / "mine.py"
        plugin.write_text(HEAD + "".join(f"    {line}\n" for line in lines))
        return start_server("-m", "-1", "-D", "--plugin", str(plugin), config=config)

    return begin


def port_of(server: ServerProcess, name: str) -> int:
    found = re.search(rf"Listening for {name} clients on \S*:(\d+)", server.log())
    assert found
    return int(found[1])


def connect(server: ServerProcess, name: str = "own") -> socket.socket:
    return socket.create_connection(("127.0.0.1", port_of(server, name)), WAIT_S)


def spec(more: str = "", name: str = "own") -> str:
    return f"yield TransportSpec(name={name!r}, host='127.0.0.1', port=-1, {more})"


def test_there_may_be_several_ports_for_clients(start: Start, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    issued = authority.issue("server")
    pair = (str(issued.cert_file), str(issued.key_file))
    tls = f"tls=TlsSettings(certificates=({pair!r},))"
    server = start(spec(name="second"), spec(tls, name="secured"))
    with RawClient(server.port) as first, RawClient(port_of(server, "second")) as second:
        first.log_in()
        second.log_in()
        second.send(b"SUB a 1\r\n")
        second.flush()
        first.send(b"PUB a 2\r\nhi\r\n")

        assert second.expect(b"MSG").body == b"hi"
    secured = authority.client_context(None).wrap_socket(
        connect(server, "secured"), server_hostname="localhost"
    )
    with secured:
        assert b'"tls_required":true' in secured.recv(4_096)
    assert len({server.port, port_of(server, "second"), port_of(server, "secured")}) == 3


def test_clients_log_in_by_what_the_handshake_knows(start: Start) -> None:
    users = "[{user: ann, password: x}, {user: joe, password: y}]"
    server = start(spec("handshake=Handshake"), config=f"authorization {{ users: {users} }}")
    for user, answer in ((b"ann!", b"PONG\r\n"), (b"joe!", b"-ERR 'Authorization Violation'\r\n")):
        with connect(server) as sock:
            sock.sendall(user)
            said = b""
            while b"\r\n" not in said:
                said += sock.recv(4_096)
            sock.sendall(b'CONNECT {"verbose":false}\r\nPING\r\n')
            assert said.startswith(b"yesINFO ")
            assert sock.recv(4_096) == answer


def test_who_stays_silent_is_let_go(start: Start) -> None:
    server = start(spec("handshake=Handshake, handshake_timeout_s=0.2"))
    with connect(server) as sock:
        sock.sendall(b"plea")

        assert sock.recv(1) == b""
    server.wait_log("own handshake error: timeout")


def test_who_is_turned_away_hears_why(start: Start) -> None:
    server = start(spec("handshake=Handshake"))
    with connect(server) as sock:
        sock.sendall(b"no!")

        assert sock.recv(10) == b"no"
        assert sock.recv(10) == b""
    server.wait_log("own handshake error: it was not polite")


@pytest.mark.parametrize(
    ("terms", "said", "problem"),
    [
        ("handshake=Handshake", b"raise!", "transport own: RuntimeError: not today"),
        ("handshake=Handshake", b"nonsense!", "must return Admitted, TurnedAway or None, not 42"),
        ("handshake=Handshake", b"stages!", "expected a ChannelStage next to the socket"),
        ("handshake=int", b"", "transport own: TypeError"),
        ("stages=(ChannelStage(Echo),)", b"raise", "receive_from_peer: RuntimeError: not today"),
        ("stages=(ChannelStage(Echo),)", b"nonsense", "must return a Translated, not b'nonsense'"),
        ("stages=(ChannelStage(int('1').bit_length),)", b"x", "'int' object has no attribute"),
        ("stages=(Coding.S2_FAST, WebSocketFrames())", b"", "frames of WebSocket stand next to"),
    ],
)
def test_a_plugin_that_fails_is_named_and_the_others_go_on(
    start: Start, terms: str, said: bytes, problem: str
) -> None:
    server = start(spec(terms), spec("handshake=Handshake", name="good"))
    with connect(server) as sock, connect(server, "good") as good:
        sock.sendall(said)
        with contextlib.suppress(ConnectionError):
            while sock.recv(4_096):
                pass
        good.sendall(b"ann!")

        assert good.recv(3) == b"yes"
    server.wait_log(f"plugin mine.*{problem}")


def test_a_channel_may_stand_beside_compiled_stages(start: Start) -> None:
    server = start(spec("stages=(ChannelStage(Echo), WebSocketFrames(is_masked=False))"))
    reader = FrameReader()
    with connect(server) as sock:
        sock.sendall(frame_bytes(b"connect {}\r\nping\r\n", mask=b""))
        said = b""
        while b"PONG" not in said:
            reader.feed(sock.recv(4_096))
            said += reader.plain()


def fails(tmp_path: Path, *lines: str) -> str:
    plugin = tmp_path / "mine.py"
    plugin.write_text(HEAD + "".join(f"    {line}\n" for line in lines))
    words = [sys.executable, "-m", "framework", "serve", "-p", "-1", "--plugin", str(plugin)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=WAIT_S)
    assert done.returncode != 0
    return done.stderr


def test_a_port_that_cannot_be_opened_stops_the_start(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        problem = fails(tmp_path, spec().replace("port=-1", f"port={port}"))

    assert f"can't listen for own clients on 127.0.0.1:{port}: address already in use" in problem


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ([spec(), spec()], "transport own is declared twice"),
        ([spec(name="")], "expected a name"),
        ([spec("stages=(WebSocketFrames(), ChannelStage(Echo))")], "a ChannelStage next to the"),
        ([spec("handshake_timeout_s=0")], "handshake_timeout_s: expected above 0"),
        (["yield 42"], "framework_transports must return TransportSpecs, not 42"),
    ],
)
def test_a_transport_that_makes_no_sense_stops_the_start(
    tmp_path: Path, lines: list[str], problem: str
) -> None:
    assert problem in fails(tmp_path, *lines)
