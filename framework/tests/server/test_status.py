"""Status lines, with what plugins say in them."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import TYPE_CHECKING, Any

from framework.server.limits import STATUS_LINE_BYTES_MAX
from framework.server.status import StatusWriter
from framework.supervise import limits as supervisor_limits
from framework.testing.embedded import embedded_server

if TYPE_CHECKING:
    from pathlib import Path

PLUGIN = """
from framework.hookspecs import hookimpl
from framework.spec import MonitorEndpoint

async def answer(query):
    assert query == {{}}
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
