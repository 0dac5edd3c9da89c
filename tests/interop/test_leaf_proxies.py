"""Hubs that are reached by an HTTP proxy: ours and nats-server at either end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from framework.testing import OURS, free_port
from framework.testing.certificates import Authority
from tests.interop.http_proxy import HttpProxy
from tests.interop.leafnodes import Star
from tests.interop.mixtures import parameters

if TYPE_CHECKING:
    from pathlib import Path

    from framework.testing import Fleet

REAL = "2.15.2"
PAIRS = [(OURS, OURS), (OURS, REAL), (REAL, OURS)]
LOGIN = 'username: "me", password: "se:cret"'


@pytest.fixture(params=parameters(PAIRS))
def kinds(request: pytest.FixtureRequest) -> tuple[str, str]:
    return request.param


def by(proxy: HttpProxy, more: str = "") -> str:
    """Return what a remote says of a proxy."""
    return f'proxy {{ url: "http://127.0.0.1:{proxy.port}", {more} }}\n'


@pytest.mark.parametrize("way", ["plain", "websocket", "tls", "tls first", "websocket by tls"])
def test_messages_cross(kinds: tuple[str, str], fleet: Fleet, tmp_path: Path, way: str) -> None:
    hub, leaf = kinds
    authority = Authority(tmp_path)
    issued = authority.issue("hub")
    first = "handshake_first: true" if way == "tls first" else ""
    tls = f'tls {{ cert_file: "{issued.cert_file}", key_file: "{issued.key_file}", {first} }}\n'
    trusting = f'tls {{ ca_file: "{authority.ca_file}", {first} }}\n' if "tls" in way else ""
    with (
        HttpProxy("me:se:cret") as proxy,
        Star(
            fleet,
            hub,
            [leaf],
            block=tls if way.startswith("tls") else "",
            websocket=(tls if "tls" in way else "") if "websocket" in way else None,
            remote=by(proxy, LOGIN) + trusting,
        ) as star,
    ):
        star.check_all()
        port = star.websocket_port if "websocket" in way else star.port

        assert set(proxy.asked) == {f"127.0.0.1:{port}"}


@pytest.mark.parametrize("kind", [OURS, pytest.param(REAL, marks=pytest.mark.peer(REAL))])
@pytest.mark.parametrize("more", ["", 'username: "me", password: "wrong"'])
def test_who_may_not_pass_says_so(fleet: Fleet, kind: str, more: str) -> None:
    with (
        HttpProxy("me:se:cret") as proxy,
        Star(fleet, OURS, [kind], remote=by(proxy, more)) as star,
    ):
        star.servers["leaf0"].wait_log("proxy CONNECT failed: 407")

        assert star.leafz("hub")["leafnodes"] == 0


def test_a_proxy_that_is_not_there(fleet: Fleet) -> None:
    url = f"127.0.0.1:{free_port()}"
    with Star(fleet, OURS, [OURS], remote=f'proxy {{ url: "http://{url}" }}\n') as star:
        star.servers["leaf0"].wait_log(f"dial tcp {url}: connect: connection refused")


def test_a_proxy_comes_and_goes_by_reload(fleet: Fleet) -> None:
    with HttpProxy() as proxy, Star(fleet, OURS, [OURS]) as star:
        star.check_all()
        plain = star.config("leaf0")
        star.servers["leaf0"].reload(plain.replace("remotes: [{", "remotes: [{" + by(proxy)))
        star.servers["leaf0"].wait_log("Leafnode connection created", count=2)
        star.check_all()

        assert proxy.asked == [f"127.0.0.1:{star.port}"]
        star.servers["leaf0"].reload(plain)
        star.servers["leaf0"].wait_log("Leafnode connection created", count=3)
        star.check_all()
        assert len(proxy.asked) == 1
