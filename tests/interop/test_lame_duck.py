"""A server that lets its clients go, with accounts and TLS, in a cluster of two."""

from __future__ import annotations

import json
import signal
import urllib.error
import urllib.request

import pytest

from framework.testing import RawClient
from framework.testing.certificates import Authority

CONFIG = """
server_name: {name}
listen: "127.0.0.1:-1"
http: "127.0.0.1:-1"
lame_duck_duration: 30s
lame_duck_grace_period: 500ms
tls {{ cert_file: "{cert}", key_file: "{key}" }}
accounts {{
  A {{ users: [ {{ user: a, password: a }} ] }}
  S {{ users: [ {{ user: s, password: s }} ] }}
}}
system_account: S
cluster {{ name: c, listen: "127.0.0.1:-1", routes: [{routes}] }}
"""


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path)


@pytest.fixture
def start(fleet, kind, authority):
    issued = authority.issue("server")

    def begin(name, *seeds):
        routes = ",".join(f'"nats://127.0.0.1:{seed.cluster_port}"' for seed in seeds)
        config = CONFIG.format(name=name, cert=issued.cert_file, key=issued.key_file, routes=routes)
        return fleet.start(kind=kind, config=config, clustered=True, port=None)

    return begin


@pytest.fixture
def log_in(authority):
    def begin(server, user):
        client = RawClient(server.port)
        client.expect(b"INFO")
        client.start_tls(authority.client_context())
        login = {"verbose": False, "protocol": 1, "user": user, "pass": user}
        client.send(b"CONNECT %b\r\n" % json.dumps(login).encode())
        client.flush()
        return client

    return begin


def health(server):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.monitor_port}/healthz") as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_clients_hear_where_else_to_go_and_are_closed_one_after_the_other(start, log_in):
    leaving = start("leaving")
    staying = start("staying", leaving)
    with (
        log_in(leaving, "a") as first,
        log_in(leaving, "a") as second,
        log_in(staying, "a") as other,
        log_in(staying, "s") as operator,
    ):
        server_id = first.info["server_id"]
        first.await_ports(leaving.port, staying.port)
        other.await_ports(leaving.port, staying.port)
        operator.send(b"SUB $SYS.SERVER.%b.> 1\r\n" % server_id.encode())
        operator.flush()
        leaving.signal(signal.SIGUSR2)

        for client in (first, second):
            while not client.expect(b"INFO").document.get("ldm"):
                pass
            assert client.connect_ports() == {staying.port}
        assert health(leaving) >= 500
        operator.read_until(f"MSG $SYS.SERVER.{server_id}.LAMEDUCK".encode())
        other.await_ports(staying.port)
        assert health(staying) == 200
        first.read_to_end()
        second.read_to_end()
    assert leaving.wait() == 0
