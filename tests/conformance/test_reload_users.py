"""Users that a reload changes, in ours and in the real server: who stays, and as what."""

from __future__ import annotations

import signal
from contextlib import ExitStack, contextmanager

import pytest

from framework.testing.errors import ConnectionEndedError

BEFORE = """accounts {
  A { users: [
    { user: same, password: x }
    { user: password, password: x }
    { user: permissions, password: x }
    { user: gone, password: x }
    { user: moved, password: x }
  ] }
  B { users: [ { user: other, password: x } ] }
  C { users: [ { user: account, password: x } ] }
}
"""
AFTER = """accounts {
  A { users: [
    { user: same, password: x }
    { user: password, password: y }
    { user: permissions, password: x, permissions: { publish: { deny: out }, subscribe: in } }
    { user: new, password: x }
  ] }
  B { users: [ { user: other, password: x }, { user: moved, password: x } ] }
}
"""
USERS = ("same", "password", "permissions", "gone", "moved", "other", "account")


@pytest.fixture
def start(fleet, kind, tmp_path):
    path = tmp_path / "users.conf"

    def start_with(text):
        path.write_text("listen: 127.0.0.1:-1\n" + text)
        return fleet.start("-c", str(path), kind=kind, port=None)

    return start_with


@pytest.fixture
def reload(tmp_path):
    def reload_with(server, text, *, count=1):
        (tmp_path / "users.conf").write_text("listen: 127.0.0.1:-1\n" + text)
        server.signal(signal.SIGHUP)
        server.wait_log("Reloaded server configuration", count=count)

    return reload_with


@contextmanager
def logged_in(server, *users, password="x"):
    """Yield clients by the name of their user."""
    with ExitStack() as stack:
        clients = {user: stack.enter_context(server.client()) for user in users}
        for user, client in clients.items():
            client.log_in(user=user, **{"pass": password})
            client.flush()
        yield clients


def end_of(client):
    """Return the last words of a connection that is closed."""
    return [operation.line for operation in client.read_to_end()]


def test_who_is_the_same_stays_and_who_may_not_any_more_goes(start, reload):
    server = start(BEFORE)
    with logged_in(server, *USERS) as clients:
        check_clients(server, clients, reload)
    for user, password in (("new", "x"), ("password", "y"), ("moved", "x")):
        with logged_in(server, user, password=password):
            pass
    with pytest.raises(ConnectionEndedError), logged_in(server, "gone"):
        pass


def check_clients(server, clients, reload):
    clients["permissions"].send(b"SUB in 1\r\nSUB maybe 2\r\n")
    clients["permissions"].flush()
    reload(server, AFTER)

    violation = b"-ERR 'Authorization Violation'"
    assert end_of(clients["password"]) == [violation]
    assert end_of(clients["gone"]) == []
    assert end_of(clients["moved"]) == []
    assert end_of(clients["account"]) == []
    told = [operation.line for operation in clients["permissions"].flush()]
    assert told == [b'-ERR \'Permissions Violation for Subscription to "maybe" (sid "2")\'']
    clients["same"].send(b"SUB out 1\r\n")
    clients["same"].flush()
    clients["permissions"].send(b"PUB out 1\r\nx\r\n")
    told = [operation.line for operation in clients["permissions"].flush()]
    assert told == [b"-ERR 'Permissions Violation for Publish to \"out\"'"]
    assert clients["same"].flush() == []
    assert clients["other"].flush() == []


def test_a_login_may_come_to_be_asked_for_and_no_more(start, reload):
    server = start("")
    with server.client() as client:
        client.log_in()
        client.flush()
        reload(server, "authorization { user: a, password: x }\n")

        assert b"-ERR 'Authorization Violation'" in end_of(client)
    with logged_in(server, "a"):
        reload(server, "", count=2)
    with server.client() as client:
        info = client.log_in()
        client.flush()

        assert "auth_required" not in info
