"""Each case in a process of its own: imports happen once."""

from __future__ import annotations

import subprocess
import sys

import pytest


def run(*statements):
    """Run statements in a fresh Python, and return what it printed."""
    command = [sys.executable, "-c", "\n".join(("import sys", *statements))]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


LEAN = "from framework.actors.lean_structlog import structlog"


def test_structlog_comes_without_rich():
    assert run(LEAN, "print(structlog.__name__, 'rich' in sys.modules)") == "structlog False\n"


def test_a_server_comes_without_rich():
    assert run("import framework.server", "print('rich' in sys.modules)") == "False\n"


def test_rich_can_be_imported_later():
    assert run(LEAN, "import rich", "print(rich.__name__)") == "rich\n"


@pytest.mark.parametrize("before", ["import rich", "import structlog"])
def test_what_was_imported_before_stays(before):
    name = before.rpartition(" ")[2]
    same = f"print(sys.modules['{name}'] is {name}, structlog.dev.rich is not None)"

    assert run(before, LEAN, same) == "True True\n"
