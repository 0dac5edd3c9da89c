"""The block `websocket`."""

from __future__ import annotations

import pytest
from framework_websocket.config import Cookies, WebSocketConfig, websocket_section
from framework_websocket.origins import Origin
from framework_websocket.others import check_beside_others

from framework.spec import TransportLogin
from framework.topology import Schema, TopologyErrors, read_server_conf


def read(tmp_path, text):
    path = tmp_path / "server.conf"
    path.write_text(text)
    return read_server_conf(path, Schema([websocket_section()]))


def config_of(tmp_path, text):
    return read(tmp_path, text).section_as(WebSocketConfig)


@pytest.mark.parametrize(
    "text", ["", "websocket {}", "websocket { port: 0 }", "ws { same_origin: true }"]
)
def test_without_a_port_there_is_nothing(tmp_path, text):
    assert config_of(tmp_path, text) is None


def test_a_whole_block_of_nats_server_is_read(tmp_path):
    text = """
    websocket {
      listen: "127.0.0.1:8080", no_tls: true, advertise: "example.com:443"
      same_origin: true, allow_origins: ["https://a.com", "http://b.com:81"]
      compress: true, handshake_timeout: "3s"
      user_cookie: u, pass_cookie: p, token_cookie: t, ping_interval: "20s"
      authorization { user: ann, password: secret, timeout: 1.5 }
      headers { X-A: "1", Strict-Transport-Security: "max-age=1" }
    }"""

    assert config_of(tmp_path, text) == WebSocketConfig(
        host="127.0.0.1",
        port=8080,
        advertise="example.com:443",
        same_origin=True,
        allowed_origins=(Origin("https", "a.com", 443), Origin("http", "b.com", 81)),
        compresses=True,
        handshake_timeout_s=3.0,
        cookies=Cookies("u", "p", "t"),
        login=TransportLogin(user="ann", password="secret"),
        auth_timeout_s=1.5,
        ping_interval_s=20.0,
        headers=(("X-A", "1"), ("Strict-Transport-Security", "max-age=1")),
    )


@pytest.mark.parametrize(
    ("inside", "problem"),
    [
        ("port: 8080", "websocket requires TLS configuration"),
        ('port: 8080, no_tls: true, allowed_origins: ["a.com"]', "absolute URL with http"),
        ('port: 8080, no_tls: true, allowed_origins: ["http://"]', "an origin has a host"),
        ("port: 8080, no_tls: true, headers { Upgrade: x }", "the handshake itself says Upgrade"),
        ("port: 8080, no_tls: true, headers { Sec-WebSocket-Key: x }", "the handshake itself"),
        ('port: 8080, no_tls: true, headers { "A:B": x }', "no name of a header"),
        ("port: 8080, no_tls: true, authorization { user: x }", "needs a password"),
        ("port: 8080, no_tls: true, authorization { pass: x }", "needs a user"),
        ('port: 8080, no_tls: true, authorization { token: "" }', "cannot be empty"),
        ("port: 8080, no_tls: true, authorization { users: [] }", "users"),
        ("port: 8080, no_tls: true, jwt_cookie: j", "needs an `operator`"),
        ("port: 8080, no_tls: true, no_auth_user: x", "no users are"),
    ],
)
def test_mistakes_are_named(tmp_path, inside, problem):
    with pytest.raises(TopologyErrors, match=problem):
        read(tmp_path, f"websocket {{ {inside} }}")


def test_a_token_alone_will_do(tmp_path):
    block = "websocket { port: 1, no_tls: true, authorization { token: x, timeout: 3 } }"

    config = config_of(tmp_path, block)
    assert (config.login, config.auth_timeout_s) == (TransportLogin(token="x"), 3.0)
    assert "x" not in repr(config.login)


USERS = {"authorization": {"users": [{"user": "ann", "nkey": None}, {"nkey": "UA", "user": None}]}}
BLOCK = {"port": 1, "no_auth_user": "", "authorization": None, "jwt_cookie": ""}
LOGIN = {"user": "u", "password": "p", "token": None, "timeout": None}


@pytest.mark.parametrize(
    ("others", "block", "expected"),
    [
        (USERS, {"no_auth_user": "ann"}, []),
        (USERS, {"no_auth_user": "UA"}, []),
        ({"accounts": {"A": {"users": [{"user": "joe"}]}}}, {"no_auth_user": "joe"}, []),
        (USERS, {"no_auth_user": "joe"}, ["no_auth_user"]),
        ({"operator": ["x"]}, {"no_auth_user": "joe"}, ["no_auth_user"]),
        (USERS, {"authorization": LOGIN}, ["user"]),
        (USERS, {"authorization": LOGIN | {"user": None, "token": "t"}}, ["token"]),
        ({"authorization": {"user": "x", "users": None}}, {"authorization": LOGIN}, []),
        ({"trusted_keys": ["OA"]}, {"jwt_cookie": "j"}, []),
        ({"operator": None}, {"jwt_cookie": "j"}, ["jwt_cookie"]),
    ],
)
def test_the_block_fits_to_the_others(others, block, expected):
    found = check_beside_others({**BLOCK, **block}, others)

    assert expected == [path[-1] for path, _ in found]
