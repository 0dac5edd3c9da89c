"""Files for the commands to read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

TOPOLOGY = """
name = "small"
plugins = ["route"]
[clusters.main.servers.a]
port = 16100
[clusters.main.servers.b]
port = 16101
"""

PLUGIN = '''
"""A plugin with a command."""

from framework.hookspecs import hookimpl


@hookimpl
def framework_add_commands(cli):
    parser = cli.add_command("greet", greet, help="greet somebody")
    parser.add_argument("name")


def greet(arguments):
    print(f"hello {arguments.name}")
    return 3
'''


@pytest.fixture
def topology(tmp_path: Path) -> Path:
    """Return a topology of two servers without plugins."""
    file = tmp_path / "small.toml"
    file.write_text(TOPOLOGY)
    return file


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """Return a plugin that adds a command."""
    file = tmp_path / "polite.py"
    file.write_text(PLUGIN)
    return file
