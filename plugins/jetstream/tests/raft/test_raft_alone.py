"""Raft imports nothing of the plugin or the framework, no I/O, clock, thread or randomness."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from framework_jetstream import raft

ROOM = Path(raft.__file__).parent
ALLOWED = re.compile(
    r"__future__|cython|cpython\.bytes|enum|libc\.\w+|msgspec|typing|framework_jetstream\.raft\.\w+"
)
IMPORT = re.compile(r"^\s*(?:from\s+(\S+)\s+c?import|c?import\s+(\S+))", re.MULTILINE)
SOURCES = sorted(path.name for path in ROOM.iterdir() if path.suffix in {".py", ".pyx", ".pxd"})


@pytest.mark.parametrize("name", SOURCES)
def test_module_imports_nothing_else(name: str) -> None:
    imported = [a or b for a, b in IMPORT.findall((ROOM / name).read_text())]

    assert [] == [it for it in imported if not ALLOWED.fullmatch(it)]


def test_there_are_modules() -> None:
    assert "_raft.pyx" in SOURCES
