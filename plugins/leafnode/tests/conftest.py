"""Run scripts of commands against the output they expect, in the format of cockroachdb/datadriven.

A script is blocks with blank lines between them: comments (`#`), a directive (`name key=value`),
input lines, `----`, and the output. `pytest --rewrite` writes the output anew; review the diff.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_ARGUMENT = re.compile(r"([^\s=]+)=(\S*)")


@dataclass(frozen=True)
class Command:
    line: int  # of the directive, 1-based
    name: str
    arguments: dict[str, str]
    input: str
    expected: str
    head: str  # up to and with `----`, as it stands


def parse(text: str) -> Iterator[Command | str]:
    lines = text.splitlines(keepends=True)
    at = 0
    while at < len(lines):
        if not lines[at].strip() or lines[at].startswith("#"):
            yield lines[at]
            at += 1
            continue
        start = at
        while lines[at].rstrip() != "----":
            at += 1
        first = at + 1
        at = first
        while at < len(lines) and lines[at].strip():
            at += 1
        name, _, rest = lines[start].strip().partition(" ")
        yield Command(
            line=start + 1,
            name=name,
            arguments=dict(_ARGUMENT.findall(rest)),
            input="".join(lines[start + 1 : first - 1]),
            expected="".join(lines[first:at]),
            head="".join(lines[start:first]),
        )


def run(path: Path, handle: Callable[[Command], str], *, rewrite: bool) -> str:
    """Return what differs, or write it back when `rewrite`."""
    differences, written = [], []
    for part in parse(path.read_text()):
        if isinstance(part, str):
            written.append(part)
            continue
        actual = handle(part)
        written += [part.head, actual]
        if actual != part.expected:
            differences.append(
                f"{path.name}:{part.line}: {part.name}\n"
                f"--- expected\n{part.expected}+++ actual\n{actual}"
            )
    if rewrite:
        path.write_text("".join(written))
        return ""
    return "\n".join(differences)


@pytest.fixture
def run_script(request):
    """Give a function that runs one of the scripts, and fails with the difference."""

    def run_named(name: str, handle: Callable[[Command], str]) -> None:
        path = Path(__file__).parent / "scripts" / name
        difference = run(path, handle, rewrite=request.config.getoption("--rewrite", default=False))

        assert not difference, difference

    return run_named
