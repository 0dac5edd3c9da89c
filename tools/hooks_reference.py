"""Writes docs/HOOKS.md from `framework/hookspecs.py` and `framework/spec`; `--check` compares.

Read as text, not imported: what a reader of the source sees is what the reference says.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
HOOKSPECS = ROOT / "framework" / "hookspecs.py"
SPEC = ROOT / "framework" / "spec"
REFERENCE = ROOT / "docs" / "HOOKS.md"

SPEC_MODULES = (
    "component",
    "listener",
    "login",
    "tap",
    "monitor",
    "connection",
    "command",
    "compression",
    "hooks",
    "server",
    "plane",
)
"""In the order in which a plugin's author meets them."""

INTRODUCTION = """\
# Hooks

<!-- Made by tools/hooks_reference.py from framework/hookspecs.py and framework/spec. -->

[PLUGINS.md](PLUGINS.md) shows how a plugin uses them.
"""

_SECTION = re.compile(r"^# -{70,}\n# (.+)\n# -{70,}$", re.MULTILINE)


def reference() -> str:
    """Return the whole text of docs/HOOKS.md."""
    return "\n".join([INTRODUCTION, *_hooks(HOOKSPECS.read_text()), *_specs()])


def _hooks(source: str) -> Iterator[str]:
    module = ast.parse(source)
    yield _docstring(module).split("\n", 2)[2] + "\n"
    sections = {
        source.count("\n", 0, match.start()): match[1] for match in _SECTION.finditer(source)
    }
    for function in _functions(module):
        for line in [line for line in sections if line < function.lineno]:
            yield f"## {sections.pop(line)}\n"
        yield f"### {function.name}\n"
        yield _signature(function)
        yield _prose(_docstring(function))


def _specs() -> Iterator[str]:
    yield "## What hooks take and return\n\nAll of it is imported from `framework.spec`.\n"
    for name in SPEC_MODULES:
        for item in ast.parse((SPEC / f"{name}.py").read_text()).body:
            if isinstance(item, ast.ClassDef):
                yield f"### {item.name}\n"
                yield _prose(_docstring(item))
                yield from _fields(item)
                yield from _methods(item)


def _fields(item: ast.ClassDef) -> Iterator[str]:
    rows = []
    for field, following in zip(item.body, [*item.body[1:], ast.Pass()], strict=True):
        if isinstance(field, ast.AnnAssign | ast.Assign):
            rows.append(f"- `{_code(field)}`{_remark(following)}")
    if rows:
        yield "\n".join(rows) + "\n"


def _remark(following: ast.stmt) -> str:
    """Return what the text below a field says about it, if there is one."""
    match following:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return f": {' '.join(text.split())}"
        case _:
            return ""


def _methods(item: ast.ClassDef) -> Iterator[str]:
    for function in _functions(item):
        if not function.name.startswith("_"):
            is_property = any(ast.unparse(mark) == "property" for mark in function.decorator_list)
            title = f"{function.name}: {_code(function.returns)}" if is_property else ""
            yield f"```python\n{title}\n```\n" if title else _signature(function)
            yield _prose(_docstring(function))


def _functions(node: ast.Module | ast.ClassDef) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [item for item in node.body if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)]


def _signature(function: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    arguments = _code(function.args).removeprefix("self, ").removeprefix("self")
    word = "async def" if isinstance(function, ast.AsyncFunctionDef) else "def"
    text = f"{word} {function.name}({arguments}) -> {_code(function.returns)}"
    return f"```python\n{text}\n```\n"


def _code(node: ast.AST | None) -> str:
    assert node is not None, "everything here is annotated"
    return ast.unparse(node).replace("'", '"')


def _docstring(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    text = ast.get_docstring(node)
    assert text, f"{node} has no docstring"
    return text


def _prose(docstring: str) -> str:
    """Turn a Google docstring into Markdown: what stands indented becomes a list."""
    text = re.sub(r"^(Args|Raises):$", r"\1:\n", docstring, flags=re.MULTILINE)
    text = re.sub(r"^    (\w+): ", r"- `\1`: ", text, flags=re.MULTILINE)
    text = re.sub(r"^ {4,}", "  ", text, flags=re.MULTILINE)
    return text.replace("Args:", "Arguments:") + "\n"


def main() -> int:
    """Write the reference, or compare it; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if it differs")
    if not parser.parse_args().check:
        REFERENCE.write_text(reference())
    elif not REFERENCE.exists() or REFERENCE.read_text() != reference():
        sys.stderr.write(f"{REFERENCE.relative_to(ROOT)} is out of date: run {sys.argv[0]}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
