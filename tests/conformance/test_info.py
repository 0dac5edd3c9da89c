"""What a server says of itself in INFO."""

from __future__ import annotations

import re

import pytest

from framework.testing import OURS
from framework.testing.certificates import Authority
from framework.wire.nkey import NkeyKind, is_public_key


def test_the_fields_that_clients_rely_on(fleet, kind):
    server = fleet.start("--name", "n1", kind=kind)
    with server.client() as client:
        info = client.expect(b"INFO").document

    assert re.fullmatch("N[A-Z2-7]{55}", info["server_id"])
    assert info["server_name"] == "n1"
    assert info["version"] == "2.15.2"
    assert info["proto"] == 1
    assert info["host"] == "127.0.0.1"
    assert info["port"] == server.port
    assert info["headers"] is True
    assert info["max_payload"] == 1_048_576
    assert info["client_ip"] == "127.0.0.1"
    assert info["client_id"] > 0
    assert "auth_required" not in info
    assert "tls_required" not in info


def test_client_ids_rise_and_are_never_used_again(fleet, kind):
    server = fleet.start(kind=kind)
    ids = []
    for _ in range(5):
        with server.client() as client:
            ids.append(client.log_in()["client_id"])

    assert sorted(set(ids)) == ids


def test_it_ends_with_a_blank_before_crlf(fleet, kind):
    """Clients that scan for it do exist."""
    server = fleet.start(kind=kind)
    with server.client() as client:
        line = client.expect(b"INFO ").line

    assert line.endswith(b"} ")


def test_options_show(fleet, kind):
    config = "max_payload: 2048\nclient_advertise: example.test:99\nno_header_support: true\n"
    server = fleet.start(kind=kind, config=config)
    with server.client() as client:
        info = client.expect(b"INFO").document

    assert info["max_payload"] == 2048
    assert (info["host"], info["port"]) == ("example.test", 99)
    assert not info["headers"]


def test_a_payload_without_a_limit(fleet, kind):
    size = 3 * 1024 * 1024
    server = fleet.start(kind=kind, config="max_payload: -1\n")
    with server.client() as client:
        info = client.log_in()
        client.send(b"SUB a 1\r\nPUB a %d\r\n%b\r\n" % (size, b"x" * size))
        message = client.read_until(b"MSG")[-1]

    assert info["max_payload"] == -1
    assert len(message.body) == size


CONFIG = """
accounts {
  A: {users: [
    {user: a, password: p}
    {nkey: UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4}
  ]}
  SYS: {users: [{user: s, password: p}]}
}
system_account: SYS
"""
LISTENERS = {
    "plain": "max_payload: 5000\n",
    "users": CONFIG,
    "nobody": CONFIG + "no_auth_user: a\n",
    "cluster": "server_name: n1\ncluster {name: c, listen: 127.0.0.1:-1}\n",
    "headerless": "no_header_support: true\n",
    "token": "authorization {token: t}\n",
}
"""Name to configuration."""
VARYING = {"server_id", "server_name", "port", "client_id", "nonce", "xkey", "go", "git_commit"}
"""Fields whose values no two servers share; xkey and nonce are checked elsewhere."""


def shape(info):
    """Return what two servers of one configuration should both say."""
    return {name: type(it) if name in VARYING else it for name, it in info.items()}


def both(fleet, talk, config="", **options):
    """Return what ours and the real server say."""
    told = {}
    for kind in (OURS, "2.15.2"):
        server = fleet.start(kind=kind, config=config, **options)
        with server.client() as client:
            told[kind] = talk(server, client)
    return told[OURS], told["2.15.2"]


@pytest.mark.peer("2.15.2")
@pytest.mark.parametrize("name", LISTENERS)
def test_ours_greets_as_the_real_one(fleet, name):
    ours, theirs = both(
        fleet,
        lambda _, client: shape(client.expect(b"INFO").document),
        LISTENERS[name],
        clustered=name == "cluster",
    )

    assert ours == theirs


@pytest.mark.peer("2.15.2")
@pytest.mark.parametrize(
    ("name", "login"),
    [
        ("plain", {}),
        ("users", {"user": "a", "pass": "p"}),
        ("users", {"user": "s", "pass": "p"}),
        ("nobody", {}),
        ("nobody", {"user": "s", "pass": "p"}),
        ("cluster", {}),
        ("token", {"auth_token": "t"}),
    ],
)
def test_behind_the_first_pong_a_client_is_told_its_account(fleet, name, login):
    def talk(_, client):
        greeting = client.log_in(**login)
        connected = client.expect(b"INFO").document
        client.send(b"PING\r\n")
        assert client.read().verb == b"PONG"  # and never again
        assert {k: connected[k] for k in ("client_id", "xkey")} == {
            k: greeting[k] for k in ("client_id", "xkey")
        }
        return shape(connected)

    ours, theirs = both(fleet, talk, LISTENERS[name], clustered=name == "cluster")

    assert ours == theirs
    assert ours["connect_info"] is True


def test_who_speaks_protocol_0_is_not_told(fleet, kind):
    with fleet.start(kind=kind).client() as client:
        client.log_in(protocol=0)
        client.send(b"PING\r\n")

        assert client.read().verb == b"PONG"


@pytest.mark.peer("2.15.2")
@pytest.mark.parametrize("more", ["", "verify: true", "allow_non_tls: true"])
def test_behind_tls_too(fleet, tmp_path, more):
    authority = Authority(tmp_path)
    issued = authority.issue("server")
    tls, top = f"cert_file: {issued.cert_file}, key_file: {issued.key_file}", ""
    if more == "allow_non_tls: true":
        top = more
    else:
        tls += f", ca_file: {authority.ca_file}, {more}"
    config = f"tls {{{tls}}}\n{top}\n"

    def talk(_, client):
        greeting = client.expect(b"INFO").document
        client.start_tls(authority.client_context(issued))
        client.send(b'CONNECT {"verbose":false,"protocol":1}\r\nPING\r\n')
        client.expect(b"PONG")
        return shape(greeting), shape(client.expect(b"INFO").document)

    ours, theirs = both(fleet, talk, config)

    assert ours == theirs


def test_the_xkey_is_one_that_can_encrypt(fleet, kind):
    with fleet.start(kind=kind).client() as client:
        info = client.expect(b"INFO").document

    assert is_public_key(info["xkey"], NkeyKind.CURVE)
