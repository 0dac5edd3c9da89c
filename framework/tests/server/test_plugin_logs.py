"""Where a plugin's own log lines go, as docs/PLUGINS.md says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from framework.testing.pytest_plugin import StartServer

PLUGIN = """
{early}
from framework.hookspecs import hookimpl

@hookimpl
def framework_connection_opened(server, connection):
    {late}
    server.log.warning("Wrote {{path}}", path="a", lines=3)
    structlog.get_logger().warning("by structlog", lines=4)
"""


@pytest.mark.parametrize("is_early", [True, False], ids=["at its start", "in a notice"])
def test_structlog_writes_to_the_log_of_the_server_when_it_was_imported_in_time(
    start_server: StartServer, tmp_path: Path, *, is_early: bool
) -> None:
    early, late = ("import structlog", "pass") if is_early else ("", "import structlog")
    plugin = tmp_path / "chatty.py"
    plugin.write_text(PLUGIN.format(early=early, late=late))
    server = start_server("--plugin", str(plugin))
    with server.client() as client:
        client.log_in()
    server.stop()
    in_format = re.findall(r"^\[\d+\] .* \[WRN\] ((?:Wrote|by) .*)$", server.log(), re.MULTILINE)

    assert "by structlog" in server.log()
    assert in_format == ["Wrote a lines=3", *(["by structlog lines=4"] if is_early else [])]
