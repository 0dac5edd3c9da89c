"""Our documents beside those of the real server: the same fields, the same types."""

from __future__ import annotations

import json
import socket
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from framework.testing.pytest_plugin import StartRealServer, StartServer
    from framework.testing.server_process import ServerProcess

CONFIG = """
listen: "127.0.0.1:-1"
http: "127.0.0.1:-1"
server_name: n1
server_tags: [blue]
cluster { name: c1, listen: "127.0.0.1:-1", routes: ["nats://127.0.0.1:1"] }
"""

ALLOWED = {"feature_flags", "system_account"}
"""Fields of theirs whose concerns this server does not have: JetStream, accounts."""


def shape(value: Any, path: str = "") -> dict[str, str]:
    """Return the path and type of every field; the items of a list count together."""
    if isinstance(value, dict):
        fields = {path: "object"} if path else {}
        for name, item in value.items():
            fields |= shape(item, f"{path}.{name}" if path else name)
        return fields
    if isinstance(value, list):
        fields = {path: "list"}
        for item in value:
            fields |= shape(item, f"{path}[]")
        return fields
    if isinstance(value, int | float) and not isinstance(value, bool):
        return {path: "number"}
    return {path: type(value).__name__}


def fetch(server: ServerProcess, path: str) -> Any:
    url = f"http://127.0.0.1:{server.monitor_port}{path}"
    with urllib.request.urlopen(url, timeout=10) as answer:
        return json.load(answer)


def ask(server: ServerProcess, path: str) -> dict[str, str]:
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as sock:
        sock.recv(4_096)
        sock.sendall(
            b'CONNECT {"verbose":false,"protocol":1,"name":"me","lang":"c","version":"1"}\r\n'
            b"SUB a.* q 5\r\nUNSUB 5 9\r\nSUB b 6\r\nPUB a.b 2\r\nhi\r\nPING\r\n"
        )
        data = b""
        while b"PONG\r\n" not in data:
            data += sock.recv(4_096)
        return shape(fetch(server, path))


@pytest.mark.parametrize(
    "path",
    [
        "/varz",
        "/connz",
        "/connz?subs=detail",
        "/connz?subs=1&auth=1",
        "/subsz",
        "/subsz?subs=1&acc=$G&test=b",
        "/healthz",
        "/healthz?details=1",
        "/routez",
    ],
)
def test_fields_are_those_of_the_real_server(
    start_server: StartServer, real_server: StartRealServer, path: str
) -> None:
    theirs = ask(real_server(config=CONFIG, clustered=True), path)
    ours = ask(start_server(config=CONFIG, clustered=True), path)
    missing = {
        name: kind
        for name, kind in theirs.items()
        if ours.get(name) != kind and ALLOWED.isdisjoint({name, name.split(".")[0]})
    }

    assert missing == {}
    assert set(ours) - set(theirs) == set()
    assert [name for name in ours if name in theirs and "[]" not in name] == [
        name for name in theirs if name in ours and "[]" not in name
    ]


@pytest.mark.parametrize(
    "more",
    [
        "",
        "authorization { user: a, password: b, timeout: 3.5 }",
        "pool_size: 5, write_deadline: 3s, write_timeout: close",
        "pool_size: -1, write_timeout: retry",
    ],
)
def test_the_cluster_has_the_values_of_the_real_server(
    start_server: StartServer, real_server: StartRealServer, more: str
) -> None:
    config = CONFIG.replace("routes:", f"{more}\nroutes:")
    theirs = fetch(real_server(config=config, clustered=True), "/varz")["cluster"]
    ours = fetch(start_server(config=config, clustered=True), "/varz")["cluster"]

    assert {**theirs, "cluster_port": ours["cluster_port"]} == ours
