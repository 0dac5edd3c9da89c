"""The block `gateway`, as nats-server reads it."""

from __future__ import annotations

import pytest
from framework_gateway.config import GatewayConfig, gateway_section
from framework_gateway.reading import read_config
from framework_gateway.url import parse_gateway_url

from framework.topology import Schema, TopologyErrors, read_server_conf

SCHEMA = Schema([gateway_section(("off", "s2_auto"), read_config)])


@pytest.fixture
def read(tmp_path):
    def read_text(text):
        path = tmp_path / "s.conf"
        path.write_text(text)
        return read_server_conf(path, SCHEMA).section_as(GatewayConfig)

    return read_text


def test_a_whole_block_is_read(read):
    config = read(
        "gateway {\n name: east\n listen: '10.0.0.1:7000'\n advertise: 'east.example:7222'\n"
        " authorization { user: me, password: secret, timeout: 3 }\n"
        " connect_retries: 2, connect_backoff: true, reject_unknown_cluster: true\n"
        " write_deadline: '5s', write_timeout: close\n gateways: [\n"
        "  { name: east, url: 'nats://east:7222' }\n"
        "  { name: west, url: 'nats://w1:7222', urls: ['nats://w2:7222', 'tls://w3:7222'] }\n"
        "  { name: west, urls: ['nats://you:pass@w4:7222'] }\n ]\n}\n"
    )

    assert (config.name, config.host, config.port) == ("east", "10.0.0.1", 7000)
    assert (config.login.user, config.login.timeout_s) == ("me", 3.0)
    assert (config.write_deadline_s, config.closes_slow) == (5.0, True)
    mesh = config.mesh
    assert (mesh.connect_retries, mesh.has_connect_backoff, mesh.rejects_unknown) == (2, True, True)
    assert [it.name for it in mesh.remotes] == ["west"]
    assert [it.address for it in mesh.remotes[0].urls] == [
        "w1:7222",
        "w2:7222",
        "w3:7222",
        "w4:7222",
    ]
    assert mesh.remotes[0].urls[3].user == "you"
    assert "secret" not in repr(config.login)
    assert "pass" not in repr(mesh.remotes)


@pytest.mark.parametrize("text", ["", "gateway {}", "gateway { port: 0 }"])
def test_a_server_without_name_and_port_has_no_gateways(read, text):
    assert read(text) is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("gateway { port: 7222 }", "gateway has no name"),
        ("gateway { name: A }", 'gateway "A" has no port specified'),
        ("gateway { name: 'a b', port: 1 }", "gateway name cannot contain spaces"),
        ("gateway { name: A, port: 1, gateways: [{ url: 'x:1' }] }", "in the list has no name"),
        ("gateway { name: A, port: 1, gateways: [{ name: B }] }", 'gateway "B" has no URL'),
        ("gateway { name: A, port: 1, gateways: [{ name: B, url: 'ftp://x:1' }] }", "scheme 'ftp'"),
        (
            "gateway { name: A, port: 1, gateways: [{ name: B, url: 'nats://x' }] }",
            "port is missing",
        ),
        ("gateway { name: A, port: 1, authorization { token: x } }", "does not support tokens"),
        ("gateway { name: A, port: 1, authorization { password: x } }", "needs a user"),
        (
            "gateway { name: A, port: 1, gateways: [{ name: B, url: 'x:1', tls {} }] }",
            "TLS Server certificate must be present and valid",
        ),
    ],
)
def test_what_is_wrong_is_said(read, text, problem):
    with pytest.raises(TopologyErrors, match=problem):
        read(text)


@pytest.mark.parametrize(
    ("text", "address"),
    [("nats://h:1", "h:1"), ("[::1]:7222", "[::1]:7222"), ("tls://u:p%40@h:2/", "h:2")],
)
def test_urls(text, address):
    assert parse_gateway_url(text).address == address


@pytest.mark.parametrize("text", ["h", "nats://h:1/x", "nats://:1", "nats://h:99999", "http://h:1"])
def test_what_is_no_url(text):
    with pytest.raises(ValueError, match=r"."):
        parse_gateway_url(text)
