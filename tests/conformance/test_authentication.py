"""Logging in to whole servers, by raw bytes and by the clients that people use."""

from __future__ import annotations

import asyncio
import json
import urllib.request

import nats
import nats.errors
import pytest

from framework.testing import OURS, NatsCli

HASH = "$2a$04$dL.VEGvkaLR.DVCs5LLAqOoJsu0CqbIP8Dcq20UGXovMYvBU8WHRu"
"""Of `secret`."""
USERS = f"""authorization {{ users: [
  {{ user: ann, password: hidden }}
  {{ user: bob, password: "{HASH}" }}
] }}"""
NKEY_SEED = "SUAACAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAN7EY"
NKEY_PUBLIC = "UCFIRY65OQE7DFP5KLNS2PF2LVZMUZYJX4OZIEQ36N2IQANUB5XVZ45L"
OTHER_SEED = "SUAAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAT6EE"
"""Of keys made for this test alone."""
TOKEN = 'authorization { token: "hidden" }'
MONITORED = "http: 127.0.0.1:-1\n"
VIOLATION = b"-ERR 'Authorization Violation'"


def ask(server, path):
    url = f"http://127.0.0.1:{server.monitor_port}{path}"
    with urllib.request.urlopen(url) as answer:
        return answer.read().decode()


def await_closed(server):
    """Return the connections that have ended; there is at least one."""
    connections = []
    while not connections:  # the real server closes first, and takes note of it then
        connections = json.loads(ask(server, "/connz?state=closed"))["connections"]
    return connections


def try_to_connect(server, **options):
    """Connect with nats-py, and return whether a message came through."""

    async def session():
        client = nats.NATS()
        try:
            await client.connect(
                server.url,
                allow_reconnect=False,
                max_reconnect_attempts=0,
                error_cb=ignore,
                **options,
            )
            subscription = await client.subscribe("hello")
            await client.publish("hello", b"there")
            message = await subscription.next_msg(timeout=10)
            return message.data == b"there"
        finally:
            await client.close()

    async def ignore(_error):
        pass

    return asyncio.run(asyncio.wait_for(session(), 20))


def test_a_client_is_told_that_it_must_log_in(fleet, kind):
    server = fleet.start(kind=kind, config=USERS)
    with server.client() as client:
        info = client.log_in(user="ann", **{"pass": "hidden"})

    assert info["auth_required"] is True


@pytest.mark.parametrize("user", [("ann", "hidden"), ("bob", "secret")], ids=["plain", "hash"])
def test_nats_py_logs_in(fleet, kind, user):
    server = fleet.start(kind=kind, config=USERS)

    assert try_to_connect(server, user=user[0], password=user[1])
    assert try_to_connect(server, user=user[0], password=user[1])
    with pytest.raises(nats.errors.Error):
        try_to_connect(server, user=user[0], password="wrong")
    with pytest.raises(nats.errors.Error):
        try_to_connect(server)


def test_nats_py_logs_in_by_a_token(fleet, kind):
    server = fleet.start(kind=kind, config=TOKEN)

    assert try_to_connect(server, token="hidden")
    with pytest.raises(nats.errors.Error):
        try_to_connect(server, token="wrong")


def test_nats_py_logs_in_by_an_nkey(fleet, kind):
    server = fleet.start(
        kind=kind, config=f"accounts {{ A {{ users: [ {{nkey: {NKEY_PUBLIC}}} ] }} }}"
    )

    assert try_to_connect(server, nkeys_seed_str=NKEY_SEED)
    with pytest.raises(nats.errors.Error):
        try_to_connect(server, nkeys_seed_str=OTHER_SEED)
    with server.client() as client:
        assert client.expect(b"INFO").document["nonce"]


@pytest.mark.parametrize(
    ("flags", "login"),
    [
        (("--user", "ann", "--pass", "hidden"), {"user": "ann", "pass": "hidden"}),
        (("-user=ann", "-pass=hidden"), {"user": "ann", "pass": "hidden"}),
        (("--auth", "hidden"), {"auth_token": "hidden"}),
    ],
    ids=["two-dashes", "one-dash", "token"],
)
def test_flags(fleet, kind, flags, login):
    server = fleet.start(*flags, kind=kind)
    with server.client() as client:
        client.log_in(**login)
    with server.client() as client:
        client.expect(b"INFO")
        client.send(b"CONNECT {}\r\n")

        assert [operation.line for operation in client.read_to_end()] == [VIOLATION]


@pytest.mark.peer("nats")
def test_the_nats_cli_logs_in(fleet, kind, tmp_path):
    server = fleet.start(kind=kind, config=USERS)
    cli = NatsCli(tmp_path)
    address = f"127.0.0.1:{server.port}"

    assert "Published" in cli.run(f"nats://ann:hidden@{address}", "pub", "a", "x")
    assert "Published" in cli.run(
        server.url, "--user", "bob", "--password", "secret", "pub", "a", "x"
    )
    with pytest.raises(AssertionError, match=r"(?i)authorization violation"):
        cli.run(f"nats://ann:wrong@{address}", "pub", "a", "x")


@pytest.mark.parametrize(
    ("data", "words", "reason"),
    [
        (b"SUB " + b"a" * 100_000 + b" 1\r\n", VIOLATION, "Authentication Failure"),
        (b"PUB a 100000\r\n" + b"x" * 100_000, VIOLATION, "Authentication Failure"),
        (b"PING\r\n", VIOLATION, "Authentication Failure"),
        (
            b'CONNECT {"user":"' + b"a" * 100_000 + b'"}\r\n',
            b"-ERR 'maximum control line exceeded'",
            "Maximum Control Line Exceeded",
        ),
    ],
    ids=["sub", "pub", "ping", "connect"],
)
def test_before_the_login_nothing_is_taken(fleet, kind, data, words, reason):
    server = fleet.start(kind=kind, config=MONITORED + USERS)
    with server.client() as client:
        client.expect(b"INFO")
        client.send(data)
        # What is unread when the server closes may cost the client the server's last words.
        assert {operation.line for operation in client.read_to_end()} <= {words}

    assert [each["reason"] for each in await_closed(server)] == [reason]
    with server.client() as client:
        client.log_in(user="ann", **{"pass": "hidden"})


@pytest.mark.parametrize(
    ("connect", "name"),
    [
        ({"nkey": NKEY_PUBLIC, "sig": "AAAA", "user": "ann"}, NKEY_PUBLIC),
        ({"user": "ann", "pass": "wrong"}, "ann"),
        ({"auth_token": "hidden"}, "[REDACTED]"),
        ({"user": "ann", "pass": "hidden", "protocol": 9}, "ann"),
        ({"user": "ann", "pass": "hidden", "no_responders": True, "headers": False}, "ann"),
    ],
    ids=["nkey", "user", "token", "protocol", "headers"],
)
def test_monitoring_shows_who_a_client_said_it_was(fleet, kind, connect, name):
    server = fleet.start(kind=kind, config=MONITORED + USERS)
    with server.client() as client:
        client.expect(b"INFO")
        client.send(b"CONNECT " + json.dumps(connect).encode() + b"\r\n")
        client.read_to_end()
    await_closed(server)

    (closed,) = json.loads(ask(server, "/connz?state=closed&auth=1"))["connections"]
    assert closed["authorized_user"] == name


def test_monitoring_shows_who_is_there_and_no_secret(fleet, kind):
    server = fleet.start("-DV", kind=kind, config=MONITORED + USERS)
    with server.client() as refused:
        refused.send(b'CONNECT {"user":"bob","pass":"hidden","auth_token":"hidden"}\r\n')
        refused.read_to_end()
    await_closed(server)
    with server.client() as client:
        client.log_in(user="ann", **{"pass": "hidden"})
        shown = [
            ask(server, path) for path in ("/varz", "/connz?auth=1&state=all", "/subsz?subs=1")
        ]
    variables, connections = (json.loads(document) for document in shown[:2])

    assert variables["auth_required"] is True
    assert {each["authorized_user"]: each.get("reason") for each in connections["connections"]} == {
        "ann": None,
        "bob": "Authentication Failure",
    }
    server.wait_log('authentication error - User "bob"')
    server.wait_log("Plaintext passwords detected, use nkeys or bcrypt")
    assert "hidden" not in "".join([*shown, server.log()])
    assert HASH not in "".join([*shown, server.log()])


def test_a_token_is_not_shown(fleet, kind):
    server = fleet.start(kind=kind, config=MONITORED + TOKEN)
    with server.client() as client:
        client.log_in(auth_token="hidden")
        (connection,) = json.loads(ask(server, "/connz?auth=1"))["connections"]

    assert connection["authorized_user"] == "[REDACTED]"


def test_too_many_that_have_not_logged_in(fleet):
    server = fleet.start(kind=OURS, config="max_pending_logins: 2\n" + USERS)
    with server.client() as first:
        first.log_in(user="ann", **{"pass": "hidden"})
        with server.client() as second, server.client() as third, server.client() as fourth:
            second.expect(b"INFO")
            third.expect(b"INFO")
            fourth.log_in(user="bob", **{"pass": "secret"})
            words = [operation.line for operation in second.read_to_end()]

            assert words[-1] == b"-ERR 'Authentication Timeout'"
        first.flush()  # the server has seen the others go
        with server.client() as fifth:
            fifth.log_in(user="bob", **{"pass": "secret"})
