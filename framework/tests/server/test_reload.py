"""Reloads of users, rights and accounts in servers as a user would start them."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from framework.testing.client import RawClient
    from framework.testing.pytest_plugin import StartServer
    from framework.testing.server_process import ServerProcess

PLUGIN = Path(__file__).with_name("people_plugin.py")
JOE = "joe { pass: j, account: A }"
ANN = "ann { pass: a, account: A }"


class World:
    """A server whose people a test changes."""

    def __init__(self, start: StartServer, folder: Path) -> None:
        self._start = start
        self._config = folder / "it.conf"
        self._reloads = 0
        self.server: ServerProcess

    def begin(self, *people: str, more: str = "") -> None:
        self.write(people, more)
        arguments = ("-c", str(self._config), "--plugin", str(PLUGIN), "-D")
        self.server = self._start(*arguments, port=None)

    def reload(self, *people: str, more: str = "") -> None:
        """Return when the reload is answered: all of it is in force."""
        self.write(people, more)
        self.server.signal(signal.SIGHUP)
        self._reloads += 1
        self.server.wait_log("Reloaded server configuration", count=self._reloads)

    def log_in(self, user: str) -> RawClient:
        client = self.server.client()
        client.log_in(user=user, **{"pass": user[0]})
        client.flush()  # behind the PONG it was told its account
        return client

    def write(self, people: tuple[str, ...], more: str) -> None:
        block = "people {\n" + "\n".join(people) + "\n}\n" if people else ""
        self._config.write_text(f"port: -1\nserver_name: s\n{block}{more}\n")


@pytest.fixture
def world(start_server: StartServer, tmp_path: Path) -> World:
    return World(start_server, tmp_path)


def last_words(client: RawClient) -> list[bytes]:
    return [operation.line for operation in client.read_to_end()]


def test_who_is_still_allowed_stays_and_who_is_not_goes(world: World) -> None:
    world.begin(JOE, ANN)
    with world.log_in("joe") as joe, world.log_in("ann") as ann:
        world.reload(ANN)

        assert last_words(joe)[-1] == b"-ERR 'Authorization Violation'"
        ann.flush()
    world.server.wait_log('authentication error - User "joe"')
    world.server.wait_log("Client connection closed: Authentication Failure")


def test_new_rights_are_in_force_when_the_reload_is_answered(world: World) -> None:
    world.begin(JOE)
    with world.log_in("joe") as joe:
        joe.send(b"PUB secret 0\r\n\r\n")
        assert joe.flush() == []
        world.reload("joe { pass: j, account: A, may_publish: [open] }")
        joe.send(b"PUB secret 0\r\n\r\nPUB open 0\r\n\r\n")

        lines = [operation.line for operation in joe.flush()]
        assert lines == [b"-ERR 'Permissions Violation for Publish to \"secret\"'"]
        world.reload(JOE)
        joe.send(b"PUB secret 0\r\n\r\n")
        assert joe.flush() == []
    world.server.wait_log('Publish Violation - Subject "secret"')


def test_who_moves_to_another_account_is_closed_without_a_word(world: World) -> None:
    world.begin(JOE)
    with world.log_in("joe") as joe:
        world.reload("joe { pass: j, account: B }")

        assert last_words(joe) == []
    world.server.wait_log("Client connection closed: Client Closed")
    with world.log_in("joe") as joe:
        joe.flush()


def test_the_latest_of_an_account_go_when_it_may_have_fewer(world: World) -> None:
    world.begin(JOE)
    with world.log_in("joe") as first, world.log_in("joe") as second:
        world.reload("joe { pass: j, account: A, max_connections: 1 }")

        words = b"-ERR 'maximum account active connections exceeded'"
        assert last_words(second)[-1] == words
        first.flush()
        with world.server.client() as third:
            third.read()
            third.send(b'CONNECT {"user":"joe","pass":"j"}\r\nPING\r\n')
            assert last_words(third)[-1] == words


def test_an_account_that_comes_serves_those_that_are_there(world: World) -> None:
    world.begin(JOE)
    with world.log_in("joe") as joe:
        world.reload(JOE, "bob { pass: b, account: B }")
        with world.log_in("bob") as bob:
            bob.send(b"SUB of.B 1\r\n")
            bob.flush()
            joe.send(b"SUB inbox 1\r\nPUB to.B inbox 2\r\nhi\r\n")
            joe.flush()
            request = bob.read()
            reply = request.line.split()[3]
            bob.send(b"PUB %b 2\r\nho\r\n" % reply)

            assert request.subject == b"of.B"
            assert request.body == b'NATS/1.0\r\nNats-Request-Info: {"acc":"A"}\r\n\r\nhi'
            assert joe.expect(b"MSG inbox").body == b"ho"


def test_logins_can_become_necessary_and_unnecessary(world: World) -> None:
    world.begin()
    with world.server.client() as somebody:
        assert not somebody.log_in().get("auth_required")
        world.reload(JOE)
        assert last_words(somebody)[-1] == b"-ERR 'Authorization Violation'"
    with world.log_in("joe") as joe:
        assert joe.info["auth_required"] is True
        world.reload()
        assert last_words(joe)[-1:] != [b"-ERR 'Authorization Violation'"]
    with world.server.client() as anybody:
        assert not anybody.log_in().get("auth_required")


def test_what_a_plugin_cannot_follow_refuses_the_reload_as_a_whole(world: World) -> None:
    world.begin(JOE)
    with world.log_in("joe") as joe:
        world.write((JOE, "nobody { pass: n, account: A }"), "max_payload: 9")
        world.server.signal(signal.SIGHUP)
        world.server.wait_log("Failed to reload server configuration: .*it.conf:3.*nobody can't")

        assert joe.info["max_payload"] == 1_048_576
        joe.flush()
    assert "Reloaded" not in world.server.log()


def test_the_latest_clients_go_when_the_server_takes_fewer(world: World) -> None:
    world.begin(JOE)
    with world.log_in("joe") as first, world.log_in("joe") as second:
        world.reload(JOE, more="max_connections: 1")

        assert last_words(second)[-1] == b"-ERR 'maximum connections exceeded'"
        first.flush()
    world.server.wait_log("Closed 1 connections to fall within max_connections")
    world.server.wait_log("Reloaded: max_connections = 1")


def test_no_secret_is_in_the_log(world: World) -> None:
    world.begin("joe { pass: j, account: A }")
    world.reload("joe { pass: hidden, account: A }")

    assert "Reloaded: people" in world.server.log()
    assert "hidden" not in world.server.log()


def test_what_has_changed_is_logged_in_nats_servers_words(
    start_server: StartServer, tmp_path: Path
) -> None:
    """Source: nats-server `reload.go`; a secret has no value there."""
    file = tmp_path / "it.conf"
    file.write_text("port: -1\nauthorization { user: a, password: b }\n")
    server = start_server("-c", str(file), port=None)
    file.write_text(
        "port: -1\nping_max: 5\nwrite_deadline: 5s\n"
        "authorization { user: a, password: c, timeout: 3 }\n"
    )
    server.signal(signal.SIGHUP)
    server.wait_log("Reloaded server configuration")

    for words in (
        "Reloaded: ping_max = 5",
        "Reloaded: write_deadline = 5s",
        "Reloaded: authorization timeout = 3s",
        "Reloaded: authorization password",
    ):
        server.wait_log(f"{words}$")
