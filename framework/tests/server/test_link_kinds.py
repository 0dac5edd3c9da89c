"""A kind of link that a plugin adds: counted, shown and joined with the others as any other."""

from __future__ import annotations

import asyncio
import contextlib
import json
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

from framework.dataplane import LinkKind
from framework.dataplane.link import KindNames
from framework.errors import PluginError
from framework.testing.embedded import embedded_server
from framework.tests.server.lines_plugin import LINES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from framework.server import Server

PLUGIN = "framework.tests.server.lines_plugin"


HTTP = 'http: "127.0.0.1:-1"\n'


class Far:
    """The far end of a connection of any kind."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def ask(self, said: bytes, until: bytes) -> bytes:
        self.writer.write(said)
        return await asyncio.wait_for(self.reader.readuntil(until), 10)


@contextlib.asynccontextmanager
async def connected(server: Server, kind: LinkKind, first: bytes) -> AsyncIterator[Far]:
    address = server.address(kind)
    assert address
    far = Far(*await asyncio.open_connection(*address))
    far.writer.write(first)
    yield far
    far.writer.close()
    await far.writer.wait_closed()


async def document(server: Server, path: str) -> Any:
    host, port = server.http_address or ("", 0)
    url = f"http://{host}:{port}{path}"
    with await asyncio.to_thread(urllib.request.urlopen, url, timeout=10) as answer:
        return json.load(answer)


CLIENT = b'CONNECT {"verbose":false}\r\nSUB a 7\r\n'
PING, PONG = b"PING\r\n", b"PONG\r\n"


def test_its_links_meet_clients_and_are_shown_by_their_kind(tmp_path: Path) -> None:
    async def run() -> tuple[bytes, bytes, bytes, Any, Any]:
        async with (
            embedded_server(tmp_path, HTTP, plugins=(PLUGIN,)) as server,
            connected(server, LinkKind.CLIENT, CLIENT) as near,
            connected(server, LINES, b"HEAR b 1\r\n") as lines,
        ):
            await near.ask(PING, PONG)
            await lines.ask(PING, PONG)
            lines.writer.write(b"SAY a 2\r\nhi\r\n")
            heard = await near.ask(b"", b"hi\r\n")
            near.writer.write(b"PUB b 3\r\nyes\r\n")
            answer = await lines.ask(b"", b"yes\r\n")
            refused = await near.ask(b"PUB lines.x 0\r\n\r\n", b"lines.x\"'\r\n")
            varz, connz = await document(server, "/varz"), await document(server, "/connz")
            return heard, answer, refused, varz, connz

    heard, answer, refused, varz, connz = asyncio.run(run())

    assert b"MSG a 7 2\r\nhi\r\n" == heard
    assert answer.endswith(b"MSG b 1 3\r\nyes\r\n")
    assert b"Permissions Violation" in refused
    assert ["Client", "Lines"] == sorted(it["kind"] for it in connz["connections"])
    assert 2 == varz["connections"] == varz["total_connections"]
    assert {"clients": 0, "routes": 0, "gateways": 0, "leafs": 0, "lines": 0} == varz[
        "slow_consumer_stats"
    ]


def test_its_links_are_remembered_when_they_are_closed(tmp_path: Path) -> None:
    async def run() -> Any:
        async with embedded_server(tmp_path, HTTP, plugins=(PLUGIN,)) as server:
            async with connected(server, LINES, b"HEAR b 1\r\n") as lines:
                await lines.ask(PING, PONG)
            while not (closed := await document(server, "/connz?state=closed"))["connections"]:
                pass
            return closed

    (row,) = asyncio.run(run())["connections"]

    assert ("Lines", "$G", 0) == (row["kind"], row.get("account", "$G"), row["out_msgs"])
    assert row["reason"] == "Client Closed"
    assert row["stop"]


def test_a_server_of_a_plugins_kind_is_told_interest_and_sent_messages(tmp_path: Path) -> None:
    async def run() -> tuple[bytes, bytes, Any]:
        async with (
            embedded_server(tmp_path, HTTP, plugins=(PLUGIN,)) as server,
            connected(server, LinkKind.CLIENT, CLIENT) as near,
        ):
            await near.ask(PING, PONG)
            async with connected(server, LinkKind.LEAF, b"CONNECT {}\r\n") as leaf:
                told = await leaf.ask(b"PONG\r\nLS+ b\r\n", b"LS+ a\r\n")
                await leaf.ask(PING, PONG)
                near.writer.write(b"PUB b 2\r\nhi\r\n")
                got = await leaf.ask(b"", b"hi\r\n")
                leaf.writer.write(b"LMSG a 3\r\nyes\r\n")
                await near.ask(b"", b"yes\r\n")
                return told, got, await document(server, "/accstatz?unused=1")

    told, got, accstatz = asyncio.run(run())

    # And of imports, such as those of the system account.
    assert told.endswith(b"\r\nLS+ a\r\n")
    assert b"LMSG b 2\r\nhi\r\n" == got
    (account,) = (it for it in accstatz["account_statz"] if it["acc"] == "$G")
    assert {"msgs": 1, "bytes": 2} == account["sent"]["leafs"]
    assert {"msgs": 1, "bytes": 3} == account["received"]["leafs"]


def test_a_name_is_one_kind_in_the_whole_process() -> None:
    again = LinkKind.add("LINES", LINES.names)

    assert again is LINES
    assert LINES in LinkKind.all()
    assert LinkKind.of(LINES) is LINES
    with pytest.raises(ValueError, match="have these names"):
        LinkKind.add("LINES", KindNames(noun="x", counters="x", title="X"))
    with pytest.raises(KeyError):
        LinkKind.of(15)


OTHER = """
from framework.hookspecs import hookimpl
from framework.spec import *
from framework.tests.server.lines_plugin import LINES

@hookimpl
def framework_link_kinds():
    yield LinkKindSpec(kind={kind}, traits=KindTraits({traits}))
"""


@pytest.mark.parametrize(
    ("kind", "traits", "why"),
    [
        ("LINES", "", "link kind LINES"),
        ("LinkKind.CLIENT", "", "link kind CLIENT"),
        ("LinkKind.GATEWAY", "dialect=Dialect(verbs={b'too long': 0})", "a verb is a capital"),
    ],
)
def test_a_row_that_cannot_be_stops_the_start_and_names_the_plugin(
    tmp_path: Path, kind: str, traits: str, why: str
) -> None:
    other = tmp_path / "other.py"
    other.write_text(OTHER.format(kind=kind, traits=traits))

    async def run() -> None:
        async with embedded_server(tmp_path, plugins=(PLUGIN, str(other))):
            pass

    with pytest.raises(PluginError, match=why) as raised:
        asyncio.run(run())
    assert "other" in str(raised.value)
