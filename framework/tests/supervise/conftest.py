"""Fake servers for the tests of this room."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from framework.supervise.process import ServerCommand

FAKE_SERVER = Path(__file__).with_name("fake_server.py")

FakeCommand = Callable[..., ServerCommand]


@pytest.fixture
def fake(tmp_path: Path) -> FakeCommand:
    """Return a maker of commands that launch a fake server which behaves as told."""

    def command(behaviour: str, name: str = "a") -> ServerCommand:
        marker = tmp_path / f"{name}.marker"
        return ServerCommand(name, (sys.executable, str(FAKE_SERVER), behaviour, str(marker)))

    return command
