"""Scripts of commands against the output they expect, in the format of cockroachdb/datadriven.

A script is blocks with blank lines between them: comments (`#`), a directive (`name key=value`),
input lines, `----`, and the output. `pytest --rewrite` writes the output anew; review the diff.
The fixture `run_script` runs those in the folder `scripts` beside a test.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

_ARGUMENT = re.compile(r"([^\s=]+)=(\S*)")


class Command(Struct, frozen=True):
    """One block of a script."""

    line: int
    """Of the directive, 1-based."""
    name: str
    arguments: Mapping[str, str]
    input: str
    expected: str
    head: str
    """Up to and with `----`, as it stands."""


def _parse(text: str) -> Iterator[Command | str]:
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


def run_commands(path: Path, handle: Callable[[Command], str], *, rewrite: bool) -> str:
    """Return what differs, or write it back.

    Args:
        path: The script.
        handle: Returns the output of a command: whole lines.
        rewrite: Write the output into the script.
    """
    differences, written = [], []
    for part in _parse(path.read_text("utf-8")):
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
        path.write_text("".join(written), "utf-8")
        return ""
    return "\n".join(differences)
