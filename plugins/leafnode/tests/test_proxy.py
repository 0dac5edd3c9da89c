"""A tunnel by an HTTP proxy: what it is asked, what is made of answers, what may be configured."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from framework_leafnode.config import LeafConfig, leafnode_section
from framework_leafnode.proxy import ProxyTunnel
from framework_leafnode.reading import read_config
from framework_leafnode.settings import ProxySettings
from framework_leafnode.url import parse_hub_url

from framework.spec import Admitted, TurnedAway
from framework.topology import Schema, TopologyErrors, read_server_conf

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = Schema([leafnode_section(("off", "s2_auto"), read_config)])


def tunnel(user: str = "", password: str = "") -> ProxyTunnel:
    proxy = ProxySettings(host="proxy", port=80, user=user, password=password, timeout_s=1.0)
    return ProxyTunnel(parse_hub_url("wss://you:pass@hub/path"), proxy)


def test_what_is_asked() -> None:
    assert tunnel().begin() == b"CONNECT hub:7422 HTTP/1.1\r\nHost: hub:7422\r\n\r\n"
    login = b"Proxy-Authorization: Basic bWU6czpjcmV0\r\n"
    assert login in tunnel("me", "s:cret").begin()


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("said", [b"HTTP/1.1 200 OK\r\nX: y\r\n\r\n", b"HTTP/1.0 200 \r\n\r\n"])
def test_a_yes_may_come_in_any_pieces(said: bytes, size: int) -> None:
    machine = tunnel()
    machine.begin()
    steps = [machine.receive(said[at : at + size]) for at in range(0, len(said), size)]

    assert steps[:-1] == [None] * (len(steps) - 1)
    assert steps[-1] == Admitted()


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        (b"HTTP/1.1 407 Who are you\r\n\r\n", "proxy CONNECT failed: 407 Who are you"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", "proxy CONNECT failed: 204 No Content"),
        (b"INFO {}\r\n\r\n", "failed to read proxy response: "),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 5_000, "failed to read proxy response: "),
    ],
)
def test_everything_else_is_a_no(said: bytes, problem: str) -> None:
    machine = tunnel()
    machine.begin()
    step = machine.receive(said)

    assert isinstance(step, TurnedAway)
    assert step.problem.startswith(problem)


def read(tmp_path: Path, proxy: str) -> ProxySettings | None:
    path = tmp_path / "s.conf"
    path.write_text(f"leafnodes {{ remotes: [{{ url: 'nats://hub:7422', proxy {{ {proxy} }} }}] }}")
    config = read_server_conf(path, SCHEMA).section_as(LeafConfig)
    assert config is not None
    return config.settings.remotes[0].proxy


def test_a_whole_block_is_read(tmp_path: Path) -> None:
    proxy = read(tmp_path, "url: 'http://p:3128/', username: me, password: secret, timeout: '5s'")

    assert proxy == ProxySettings(host="p", port=3128, user="me", password="secret", timeout_s=5.0)
    assert "secret" not in repr(proxy)
    assert read(tmp_path, "url: 'http://p'") == ProxySettings(host="p", port=80, timeout_s=1.0)
    assert read(tmp_path, "") is None


@pytest.mark.parametrize(
    ("proxy", "problem"),
    [
        ("timeout: '5s'", "proxy URL must be specified when other proxy options are set"),
        ("url: 'http://p', username: me", "username and password must both be specified"),
        ("url: 'https://p'", "TLS with a proxy is not there yet"),
        ("url: 'socks5://p'", "scheme 'socks5' is none of http"),
        ("url: 'p:3128'", "scheme is missing"),
        ("url: 'http://me:secret@p'", "a login stands in `username` and `password`"),
        ("url: 'http://p', tls { insecure: true }", "TLS with a proxy is not there yet"),
    ],
)
def test_what_is_refused(tmp_path: Path, proxy: str, problem: str) -> None:
    with pytest.raises(TopologyErrors, match=problem):
        read(tmp_path, proxy)
