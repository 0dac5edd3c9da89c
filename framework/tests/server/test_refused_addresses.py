"""Addresses that plugins refuse: at accept, before INFO; as the example of docs/PLUGINS.md does."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from framework.tests.sockets import WAIT_S, line

if TYPE_CHECKING:
    from framework.testing.pytest_plugin import StartServer
    from framework.testing.server_process import ServerProcess

BAN = Path(__file__).parents[3] / "examples" / "ban.py"
CONFIG = """
host: "127.0.0.1"
http: "127.0.0.1:-1"
ban { addresses: ["127.0.0.8/30"] }
accounts {
  SYS { users: [{user: sys, password: secret}] }
  A { users: [{user: a, password: secret}] }
}
system_account: SYS
"""


def state(server: ServerProcess) -> dict[str, Any]:
    (found,) = [it for it in server.document("/pluginz")["plugins"] if it["name"] == "ban"]
    (row,) = found["refused_addresses"]
    return row


def connect(server: ServerProcess, host: str, port: int = 0) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port or server.port), WAIT_S, (host, 0))


def greeting(server: ServerProcess, host: str) -> bytes:
    """Return how the first line begins that somebody hears, or nothing."""
    with connect(server, host) as sock:
        return sock.recv(5)


def ask(server: ServerProcess, subject: bytes, payload: bytes) -> bytes:
    """Return what the operator's request is answered with."""
    with server.client() as operator:
        operator.log_in(user="sys", **{"pass": "secret"})
        operator.send(
            b"SUB reply 1\r\nPUB %b reply %d\r\n%b\r\n" % (subject, len(payload), payload)
        )
        return operator.read_until(b"MSG")[-1].body or b""


@pytest.fixture
def server(start_server: StartServer) -> ServerProcess:
    """Return a server with the example plugin."""
    return start_server("--plugin", str(BAN), config=CONFIG)


def test_an_address_is_banned_and_let_in_again(server: ServerProcess) -> None:
    assert [greeting(server, it) for it in ("127.0.0.9", "127.0.0.5")] == [b"", b"INFO "]
    with connect(server, "127.0.0.5") as there, connect(server, "127.0.0.6") as other:
        assert line(there).startswith(b"INFO")
        assert line(other).startswith(b"INFO")
        assert ask(server, b"BAN.add", b"127.0.0.5 10.0.0.0/8") == b"+OK"

        assert there.recv(5) == b""  # the example closes who is there; the ban alone does not
        assert greeting(server, "127.0.0.5") == b""
        assert greeting(server, "127.0.0.6") == b"INFO "
        other.sendall(b'CONNECT {"user":"a","pass":"secret","verbose":false}\r\nPING\r\n')
        assert line(other) == b"PONG\r\n"
    server.wait_log("Refused client connection from 127.0.0.9:[0-9]+: .* refused by ban plugin=ban")

    row = state(server)
    assert (row["ranges"], row["refused"], row["kinds"]) == (3, 2, ["client"])
    assert ask(server, b"BAN.remove", b"127.0.0.5 127.0.0.8/30") == b"+OK"
    assert [greeting(server, it) for it in ("127.0.0.9", "127.0.0.5")] == [b"INFO ", b"INFO "]
    assert state(server)["ranges"] == 1


def test_a_change_with_a_bad_range_changes_nothing(server: ServerProcess) -> None:
    answered = ask(server, b"BAN.add", b"10.0.0.0/8 10.0.0.1/8")

    assert b"the server could not answer; its log says why" in answered
    assert state(server)["ranges"] == 1
    server.wait_log(r"Plugin ban failed in service ban .*ban.py:\d+.*10.0.0.1/8 has host bits set")


ROUTES = """
from framework import hookimpl
from framework.spec import LinkKind, RefusedAddresses

@hookimpl
def framework_refused_addresses(server):
    yield RefusedAddresses(name="peers", ranges=["127.0.0.5"], kinds=[LinkKind.ROUTE])
"""


def test_listeners_of_routes_refuse_as_well(start_server: StartServer, tmp_path: Path) -> None:
    plugin = tmp_path / "peers.py"
    plugin.write_text(ROUTES)
    config = 'cluster { name: c, host: "127.0.0.1", port: -1 }'
    server = start_server("--plugin", str(plugin), config=config)
    port = server.cluster_port or int(
        server.wait_log("for route connections")[0].rpartition(":")[2]
    )

    with connect(server, "127.0.0.5", port) as refused, connect(server, "127.0.0.6", port) as peer:
        assert refused.recv(5) == b""
        assert line(peer).startswith(b"INFO")
    assert greeting(server, "127.0.0.5") == b"INFO "
