"""Writes docs/HOOKS.md from `framework/hookspecs.py` and the public rooms; `--check` compares.

Read as text, not imported, but for what is compiled: what a reader of the source sees is what the
reference says.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import re
import sys
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
HOOKSPECS = ROOT / "framework" / "hookspecs.py"
OFFERED = {
    "JetStream": ROOT / "plugins/jetstream/src/framework_jetstream/hookspecs.py",
    "gateway": ROOT / "plugins/gateway/src/framework_gateway/hookspecs.py",
    "route": ROOT / "plugins/route/src/framework_route/hookspecs.py",
}
"""Hooks that first-party plugins offer to others."""
REFERENCE = ROOT / "docs" / "HOOKS.md"

ROOMS = {
    "framework.spec": "What hooks take and return",
    "framework.actors": "Actors",
    "framework.peering": "Links to other servers",
    "framework.topology": "Configuration",
    "framework.errors": "Errors",
    "framework.wire": "Subjects and versions",
    "framework.sublist": "Matching",
    "framework.testing": "The test kit",
    "framework.testing.contract": "Contracts, as tests to inherit",
    "framework.testing.simulation": "Links in virtual time",
}
"""The rooms that plugins may import, in the order in which an author meets them."""

FIXTURES = ROOT / "framework" / "testing" / "pytest_plugin.py"

INTRODUCTION = """\
# Hooks

<!-- Made by tools/hooks_reference.py from framework/hookspecs.py and the public rooms. -->

[PLUGINS.md](PLUGINS.md) shows how a plugin uses them.
Below the hooks stands all else that a plugin may import, room by room.
"""

_SECTION = re.compile(r"^# -{70,}\n# (.+)\n# -{70,}$", re.MULTILINE)


def reference() -> str:
    """Return the whole text of docs/HOOKS.md."""
    offered = (line for plugin in OFFERED for line in _offered(plugin))
    return "\n".join([INTRODUCTION, *_hooks(HOOKSPECS.read_text()), *offered, *_rooms()])


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


def _offered(plugin: str) -> Iterator[str]:
    module = ast.parse(OFFERED[plugin].read_text())
    yield f"## Offered by the {plugin} plugin\n"
    yield _prose(_docstring(module))
    for function in _functions(module):
        yield f"### {function.name}\n"
        yield _signature(function)
        yield _prose(_docstring(function))
    for item in module.body:
        if isinstance(item, ast.ClassDef):
            yield f"### {item.name}\n"
            yield _prose(_docstring(item))
            yield from _fields(item)


def _rooms() -> Iterator[str]:
    for room, title in ROOMS.items():
        yield f"## {title}\n\nFrom `{room}`.\n"
        for name, module in _public(room).items():
            yield from _item(room, name, module)
        if room == "framework.testing":
            yield from _fixtures()


def _public(room: str) -> dict[str, str]:
    """Return the module of each public name of a room: those of one module together."""
    module = ast.parse(_source(room))
    homes = {
        alias.name: node.module
        for node in ast.walk(module)
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    exported = [
        ast.literal_eval(node.value)
        for node in module.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    ]
    own = [node.name for node in module.body if isinstance(node, ast.ClassDef)]
    names = exported[0] if exported else [name for name in own if not name.startswith("_")]
    order = list(dict.fromkeys(homes.values()))
    found = {name: homes.get(name, room) for name in names}
    return dict(sorted(found.items(), key=lambda it: order.index(it[1]) if it[1] in order else -1))


def _source(module: str) -> str:
    path = ROOT / module.replace(".", "/")
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return file.read_text() if file.exists() else ""  # else it is compiled


def _item(room: str, name: str, module: str) -> Iterator[str]:
    body = ast.parse(_source(module)).body
    for node, following in pairwise([*body, ast.Pass()]):
        match node:
            case ast.ClassDef() if node.name == name:
                yield f"### {name}\n"
                yield _prose(_docstring(node))
                yield from _fields(node)
                yield from _methods(node)
                return
            case ast.FunctionDef() | ast.AsyncFunctionDef() if node.name == name:
                yield f"### {name}\n"
                yield _signature(node)
                yield _prose(_docstring(node))
                return
            case ast.AnnAssign() | ast.Assign() if _target(node) == name:
                yield f"### {name}\n"
                yield f"`{_code(node)}`{_remark(following)}\n"
                return
    yield from _compiled(room, name)


def _target(node: ast.AnnAssign | ast.Assign) -> str:
    return ast.unparse(node.target if isinstance(node, ast.AnnAssign) else node.targets[0])


def _compiled(room: str, name: str) -> Iterator[str]:
    """Describe what is no text of Python: by its stub and its docstrings."""
    item = getattr(importlib.import_module(room), name)
    yield f"### {name}\n"
    stub = ROOT / f"{item.__module__.replace('.', '/')}.pyi"
    for node in ast.parse(stub.read_text()).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            yield _signature(node)
            yield _compiled_prose(item, name)
        elif isinstance(node, ast.ClassDef) and node.name == name:
            yield _prose(inspect.getdoc(item) or "")
            for function in _functions(node):
                if not function.name.startswith("_"):
                    yield _signature(function)
                    yield _compiled_prose(getattr(item, function.name), f"{name}.")


def _compiled_prose(item: object, begins: str) -> str:
    """Return a docstring without the signature with which Cython begins some."""
    text = inspect.getdoc(item) or ""
    first, _, rest = text.partition("\n")
    return _prose(rest.strip() if first.startswith(begins) else text)


def _fixtures() -> Iterator[str]:
    yield "### Fixtures\n\nOf pytest; they are there wherever `framework` is installed.\n"
    for function in _functions(ast.parse(FIXTURES.read_text())):
        if any(ast.unparse(mark) == "pytest.fixture" for mark in function.decorator_list):
            yield _signature(function)
            yield _prose(_docstring(function))


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
        marks = {ast.unparse(mark) for mark in function.decorator_list}
        # What a base has documented is documented there, and overloads stand above one function.
        if not function.name.startswith("_") and marks.isdisjoint({"overload", "override"}):
            is_property = "property" in marks
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
