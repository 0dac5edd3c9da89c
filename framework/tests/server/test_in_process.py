"""Connections of the process to its own server: clients in all but the network."""

from __future__ import annotations

import urllib.error
import urllib.request
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from framework.testing.pytest_plugin import StartServer
    from framework.testing.server_process import ServerProcess

PLUGIN = """
import asyncio
import json

from framework.errors import DownloadRefused
from framework.hookspecs import hookimpl
from framework.spec import Download, DownloadSpec

@hookimpl
def framework_downloads(server):
    async def begin(request):
        user = {"user": request.credentials.user, "pass": request.credentials.password}
        sock = server.connect_in_process(request.host, request.port)
        reader, writer = await asyncio.open_connection(sock=sock)
        info = json.loads((await reader.readline())[5:])
        connect = json.dumps({"verbose": False, "name": request.name, **user})
        lines = ["CONNECT " + connect, f"PUB {request.name} 2", "hi", "PING", ""]
        writer.write("\\r\\n".join(lines).encode())
        said = b"+"
        while said.startswith((b"+", b"INFO")):
            said = await reader.readline()
        if b"Authorization" in said:
            writer.close()
            raise DownloadRefused(401, "log in")

        async def pieces():
            yield json.dumps({"said": said.decode().strip(), "id": info["server_id"]}).encode()
            yield json.dumps(await server.monitor_document("/connz", {"auth": "1"})).encode()

        return Download(content_type="text/plain", pieces=pieces(), close=writer.close)

    yield DownloadSpec(folder="/talk/", open=begin, help="Talk")
"""
USERS = """
authorization { users: [
  { user: ann, password: pw }
  { user: bob, password: pw, permissions: { publish: { deny: "denied" } } }
] }
"""


def start(start_server: StartServer, tmp_path: Path, config: str) -> ServerProcess:
    plugin = tmp_path / "mine.py"
    plugin.write_text(PLUGIN)
    return start_server("-m", "-1", "--plugin", str(plugin), config=config)


def get(server: ServerProcess, path: str, user: str = "") -> str:
    url = f"http://127.0.0.1:{server.monitor_port}{path}"
    opener = urllib.request.build_opener()
    if user:
        passwords = urllib.request.HTTPPasswordMgrWithPriorAuth()
        passwords.add_password(None, url, user, "pw", is_authenticated=True)
        opener.add_handler(urllib.request.HTTPBasicAuthHandler(passwords))
    with opener.open(url) as answer:
        return str(answer.read().decode())


def test_it_is_a_client_like_others(start_server: StartServer, tmp_path: Path) -> None:
    server = start(start_server, tmp_path, USERS)
    said = get(server, "/talk/subject", "ann")

    assert '"said": "PONG"' in said
    assert f'"id": "{server.document("/varz")["server_id"]}"' in said
    assert '"authorized_user": "ann"' in said
    assert '"name": "subject"' in said
    assert '"ip": "127.0.0.1"' in said
    assert "Permissions Violation" in get(server, "/talk/denied", "bob")
    with pytest.raises(urllib.error.HTTPError, match="401"):
        get(server, "/talk/subject")
    assert "<li>/talk/ Talk</li>" in get(server, "/")


def test_what_it_publishes_is_heard(start_server: StartServer, tmp_path: Path) -> None:
    server = start(start_server, tmp_path, "")
    with server.client() as client:
        client.log_in()
        client.send(b"SUB orders 1\r\n")
        client.flush()
        get(server, "/talk/orders")
        [message] = client.read_until(b"MSG")[-1:]

    assert b"hi" == message.body
    while server.document("/varz")["connections"]:
        pass
