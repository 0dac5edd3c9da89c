"""Status lines, with what plugins say in them."""

from __future__ import annotations

import asyncio
import json
import socket
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from msgspec.structs import replace

from framework.dataplane import LinkKind
from framework.dataplane.totals import KindTotals, Totals
from framework.server.limits import STATUS_LINE_BYTES_MAX
from framework.server.reload import ReloadImpossible, ReloadOutcome
from framework.server.status import StatusWriter, status_line
from framework.supervise import limits as supervisor_limits
from framework.testing.embedded import embedded_server

if TYPE_CHECKING:
    from pathlib import Path

    from framework.server import Server

PLUGIN = """
from framework.hookspecs import hookimpl
from framework.spec import MonitorEndpoint, NoOptions

async def answer(options):
    assert options == NoOptions()
    {answer}

@hookimpl
def framework_monitor_endpoints():
    return [MonitorEndpoint(answer=answer, status="news")]
"""


def first_line(folder: Path, answer: str) -> dict[str, Any]:
    """Return what a server says first that has a plugin with such an answer."""
    plugin = folder / "newsman.py"
    plugin.write_text(PLUGIN.format(answer=answer))

    async def told() -> bytes:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            ours.settimeout(0)
            async with embedded_server(folder, plugins=(str(plugin),)) as server:
                writer = StatusWriter(theirs.fileno(), server)
                writer.start()
                line = await asyncio.get_running_loop().sock_recv(ours, 1_000_000)
                writer.stop()
                return line

    document: dict[str, Any] = json.loads(asyncio.run(told()))
    return document


def test_a_plugin_has_a_field_of_its_own(tmp_path: Path) -> None:
    line = first_line(tmp_path, "return [1, 2]")

    assert line["news"] == [1, 2]
    assert line["ready"] is True


def test_a_plugin_that_fails_is_named_and_disturbs_nobody(tmp_path: Path) -> None:
    line = first_line(tmp_path, "raise ValueError('no news')")

    place = f"{tmp_path / 'newsman.py'}:7"
    problem = "endpoint news failed: ValueError: no news"
    assert line["news"] == {"error": f"plugin newsman ({place}): {problem}"}
    assert line["ready"] is True


def test_who_says_too_much_is_not_heard_and_the_server_is(tmp_path: Path) -> None:
    line = first_line(tmp_path, f"return 'x' * {STATUS_LINE_BYTES_MAX}")

    assert "news" not in line
    assert line["ready"] is True


def test_the_supervisor_takes_lines_as_long_as_a_server_writes() -> None:
    assert supervisor_limits.STATUS_LINE_BYTES_MAX == STATUS_LINE_BYTES_MAX


def test_only_messages_of_clients_are_counted() -> None:
    """What passes a route is counted by both of its servers."""
    none = KindTotals(**dict.fromkeys(KindTotals.__struct_fields__, 0))
    kinds = dict.fromkeys(LinkKind.all(), none) | {
        LinkKind.CLIENT: replace(none, in_msgs=3, out_msgs=4)
    }
    fields = dict.fromkeys(Totals.__struct_fields__, 0) | {"in_msgs": 7, "out_msgs": 9}
    server = SimpleNamespace(
        identity=SimpleNamespace(name="a"),
        is_ready=True,
        is_lame_duck=False,
        last_reload=ReloadOutcome(),
        address=lambda _: None,
        http_address=None,
        totals=Totals(**(fields | {"kinds": kinds})),
    )
    document = json.loads(status_line(cast("Server", server)))

    assert (document["in_msgs"], document["out_msgs"]) == (3, 4)


def test_a_reload_and_lame_duck_mode_are_told_at_once(tmp_path: Path) -> None:
    async def told() -> list[dict[str, Any]]:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            ours.settimeout(0)
            loop = asyncio.get_running_loop()
            async with embedded_server(tmp_path) as server:
                writer = StatusWriter(theirs.fileno(), server)
                writer.start()
                lines = [await loop.sock_recv(ours, 100_000)]
                with pytest.raises(ReloadImpossible):
                    await server.reload_files()
                lines.append(await loop.sock_recv(ours, 100_000))
                await server.enter_lame_duck()
                lines.append(await loop.sock_recv(ours, 100_000))
                writer.stop()
                return [json.loads(line.splitlines()[0]) for line in lines]

    first, refused, leaving = asyncio.run(told())
    assert "reload" not in first
    assert refused["reload"]["count"] == 1
    assert refused["reload"]["error"].startswith("can only reload config when a file is provided")
    assert (refused["lame_duck"], leaving["lame_duck"]) == (False, True)
