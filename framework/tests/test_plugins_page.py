"""docs/PLUGINS.md shows the example plugin as it is, and the example stays small."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "PLUGINS.md").read_text()
RUNS_THEM = "tools/try_wheels.py"
EXAMPLE = ROOT / "examples" / "plugin-audit"
BLOCKS = re.findall(r"<!-- (\S+) -->\n```\w*\n(.*?)```\n", PAGE, re.DOTALL)


def test_every_block_says_where_it_was_cut():
    assert PAGE.count("\n```") == 2 * len(BLOCKS)


@pytest.mark.parametrize(("source", "block"), BLOCKS)
def test_every_block_stands_where_it_was_cut(source, block):
    if source != RUNS_THEM:
        assert block in (ROOT / source).read_text()


def test_the_page_begins_with_what_is_run():
    assert [source for source, block in BLOCKS if block.startswith("framework new-plugin")] == [
        RUNS_THEM
    ]


def test_the_example_can_be_read_at_a_sitting():
    lines = [
        line
        for path in EXAMPLE.glob("src/**/*.py")
        for line in path.read_text().splitlines()
        if line.strip()
    ]

    assert len(lines) < 200
