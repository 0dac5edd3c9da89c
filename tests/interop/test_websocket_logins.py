"""Logins of WebSocket clients: cookies, a login of the port, and ways that users may come."""

from __future__ import annotations

import json

import pytest

from framework.testing import RawClient
from framework.testing.websocket import Opcode
from tests.interop.websockets import CONNECT, open_port

__all__ = ["open_port"]


def test_cookies_log_in_who_gives_nothing_else(open_port):
    port = open_port(
        'user_cookie: "u", pass_cookie: "p"',
        top="authorization { users: [{user: ann, password: secret}, {user: joe, password: x}] }",
    )
    with port.logged_in(cookie='theme=dark; u=ann; p="secret"'):
        pass
    with port.client() as client:
        client.begin(cookie="u=ann; p=wrong", connect=CONNECT)
        said, frames = client.rest()

    assert b"-ERR 'Authorization Violation'\r\n" == said
    assert [(Opcode.CLOSE, 1008)] == [(it.opcode, it.close_status) for it in frames]
    with port.client() as client:
        client.begin(
            cookie="u=ann; p=wrong", connect=CONNECT.replace(b"{", b'{"user":"joe","pass":"x",')
        )
        client.expect(b"PONG")


def test_a_token_comes_in_a_cookie(open_port):
    port = open_port("token_cookie: t", top="authorization { token: abc }")
    with port.logged_in(cookie="t=abc"):
        pass


HASH = "$2a$04$JyZUv/TF7YvVlF5qZPNdYucpfq1LPy1rRp.NemX5cTTtBRnkJK2ta"
"""Of `secret`."""
LOGINS = [
    ("authorization { user: ann, password: secret }", {"user": "ann", "pass": "secret"}, {}),
    ("authorization { token: secret }", {"auth_token": "secret"}, {"user": "ann", "pass": "x"}),
    (
        f'authorization {{ user: ann, password: "{HASH}" }}',
        {"user": "ann", "pass": "secret"},
        {"user": "ann", "pass": "$2a$04$"},
    ),
]


@pytest.mark.parametrize("top", ["", "authorization { user: joe, password: other }"])
@pytest.mark.parametrize(("inside", "right", "wrong"), LOGINS)
def test_the_port_has_a_login_of_its_own(open_port, inside, right, wrong, top):
    port = open_port(inside, top=top)
    found = []
    for said in (right, wrong, {"user": "joe", "pass": "other"}):
        with port.client() as client:
            info = json.loads(client.begin(connect=login(said))[5:])
            assert info["auth_required"]
            text, _ = client.rest() if said is not right else (client.expect(b""), ())
            found.append(text)
    with port.client() as client:
        client.begin()
        client.say(b"PING\r\n")
        text, _ = client.rest()

    violation = b"-ERR 'Authorization Violation'\r\n"
    assert [*found, text] == [b"PONG", violation, violation, violation]
    with RawClient(port.server.port) as other:
        assert bool(other.expect(b"INFO").document.get("auth_required")) == bool(top)
        other.send(login({"user": "joe", "pass": "other"}))
        other.expect(b"PONG")


def login(said):
    return CONNECT.replace(b"{", b"{" + json.dumps(said)[1:-1].encode() + b"," if said else b"{")


@pytest.mark.parametrize("top", ["", "authorization { timeout: 30, user: joe, password: x }"])
def test_who_does_not_log_in_in_time_is_let_go(open_port, top):
    inside = "authorization { user: ann, password: secret, timeout: 0.3 }"
    port = open_port(inside, top=top)
    with port.client() as client:
        client.begin()
        text, _ = client.rest()

    assert text == b"-ERR 'Authentication Timeout'\r\n"


def test_clients_of_the_port_are_pinged_as_often_as_it_says(open_port):
    port = open_port('ping_interval: "100ms"', top='ping_interval: "1h"')
    with port.logged_in() as client:
        for _ in range(3):
            assert client.expect(b"PING") == b"PING"
            client.say(b"PONG\r\n")


def test_who_says_nothing_is_the_no_auth_user_of_the_port(open_port):
    users = "[{user: page, password: x, permissions: {publish: a}}, {user: ann, password: y}]"
    port = open_port("no_auth_user: page", top=f"authorization {{ users: {users} }}")
    with port.logged_in() as client:
        client.say(b"PUB b 0\r\n\r\n")

        client.expect(b"-ERR 'Permissions Violation for Publish")
    with RawClient(port.server.port) as other:
        other.expect(b"INFO")
        other.send(CONNECT)

        other.expect(b"-ERR 'Authorization Violation'")


@pytest.mark.parametrize(
    ("types", "websocket", "standard"),
    [
        ("[WEBSOCKET]", True, False),
        ("[STANDARD]", False, True),
        ("[STANDARD, WEBSOCKET]", True, True),
    ],
)
def test_users_come_by_the_ways_they_may(open_port, types, websocket, standard):
    user = f"{{user: ann, password: x, allowed_connection_types: {types}}}"
    port = open_port(top=f"authorization {{ users: [{user}] }}")
    said = CONNECT.replace(b"{", b'{"user":"ann","pass":"x",')
    with port.client() as client:
        client.begin(connect=said)
        client.expect(b"PONG" if websocket else b"-ERR 'Authorization Violation'")
    with RawClient(port.server.port) as other:
        other.expect(b"INFO")
        other.send(said)
        other.expect(b"PONG" if standard else b"-ERR 'Authorization Violation'")
