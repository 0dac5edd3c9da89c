"""`framework check` says where servers of one topology differ in gates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from framework.cli import main

if TYPE_CHECKING:
    from pathlib import Path

    Capture = pytest.CaptureFixture[str]

PLUGIN = """
from typing import Annotated

from msgspec import Struct

from framework import hookimpl
from framework.topology import Setting, section_of


class MineConfig(Struct, frozen=True):
    level: Annotated[int, Setting(help="How strict")] = 1


@hookimpl
def framework_config_sections():
    yield section_of(MineConfig, name="mine", help="Mine")
"""
GATES = """

@hookimpl
def framework_gates(server):
    return ()
"""
SERVERS = """
name = "small"
[clusters.main.servers.a]
{}
[clusters.main.servers.b]
{}
"""


@pytest.fixture
def checked(tmp_path: Path, capsys: Capture):
    """Return what `framework check` says of two servers with a block each, and a plugin."""

    def check(*blocks: str, name: str = "mine", plugin: str = PLUGIN + GATES) -> str:
        (tmp_path / f"{name}.py").write_text(plugin)
        file = tmp_path / "small.toml"
        file.write_text(SERVERS.format(*blocks))
        assert main(["check", "--plugin", str(tmp_path / f"{name}.py"), str(file)]) == 0
        return capsys.readouterr().err.replace(f"{file}:", "")

    return check


def test_servers_that_differ_in_gates(checked) -> None:
    said = checked("mine.level = 1", "")

    assert said == (
        "warning: 4:14: `mine` differs between a and b: its plugin has gates or quotas, and what "
        "one server refuses or changes another lets in; put it where all servers have it\n"
    )
    assert "differs between a and b" in checked("mine.level = 1", "mine.level = 2")
    assert "differs between a and b" in checked("", "mine.level = 2")


def test_servers_that_agree_or_have_no_gates(checked) -> None:
    assert checked("mine.level = 2", "mine.level = 2") == ""
    assert checked("", "") == ""
    assert checked("mine.level = 1", "", name="gateless", plugin=PLUGIN) == ""
