"""What plugin authors may import: where it stands, and that Python's own tools can read it."""

from __future__ import annotations

import ast
import contextlib
import importlib
import inspect
import pydoc
import subprocess
import sys
import typing
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = (
    "framework.actors",
    "framework.errors",
    "framework.hookspecs",
    "framework.peering",
    "framework.spec",
    "framework.sublist",
    "framework.testing",
    "framework.topology",
    "framework.wire",
)
"""The rooms that docs/PLUGINS.md names; their `__all__` is what is public."""
EXAMPLES = sorted(ROOT.glob("examples/plugin-*/**/*.py"))
HEAVY = {"cryptography", "http.client", "rich", "urllib.request"}
"""What a start must not load only because the API is annotated with it."""
FOREIGN = {"ActorRef"}
"""Their bases in pykka have annotations that cannot be resolved."""


def public(room: str) -> dict[str, object]:
    module = importlib.import_module(room)
    names = {name: getattr(module, name) for name in module.__all__}
    if room == "framework.hookspecs":
        names |= {name: it for name, it in vars(module).items() if name.startswith("framework_")}
    return names


API = [
    pytest.param(item, id=f"{room.removeprefix('framework.')}.{name}")
    for room in ROOMS
    for name, item in public(room).items()
    if inspect.isclass(item) or inspect.isfunction(item)
]


def methods(item: object) -> list[typing.Any]:
    if not inspect.isclass(item):
        return []
    own = [it for name, it in vars(item).items() if not name.startswith("_")]
    plain = [it.fget if isinstance(it, property) else getattr(it, "__func__", it) for it in own]
    return [it for it in plain if inspect.isfunction(it)]


@pytest.mark.parametrize("item", API)
def test_annotations_resolve(item: typing.Any) -> None:
    if item.__name__ not in FOREIGN:
        typing.get_type_hints(item)
    for method in methods(item):
        typing.get_type_hints(method)


@pytest.mark.parametrize("item", API)
def test_signature_and_help_work(item: typing.Any) -> None:
    # What is built in has no signature, and says so by ValueError.
    with contextlib.suppress(ValueError):
        inspect.signature(item)

    assert item.__name__ in pydoc.render_doc(item)


def imported(path: Path) -> list[tuple[str, str]]:
    """Return (module, name) of all that a file takes from the framework."""
    return [
        (node.module, alias.name)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "framework"
        for alias in node.names
        if node.module
    ]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: str(path.relative_to(ROOT)))
def test_examples_import_what_is_public_and_nothing_else(path: Path) -> None:
    allowed = {(room, name) for room in ROOMS for name in public(room)}
    allowed |= {("framework", name) for name in importlib.import_module("framework").__all__}
    allowed |= {
        ("framework.testing.contract", name)
        for name in ("CodecContract", "PluginContract", "PortContract")
    }

    assert [it for it in imported(path) if it not in allowed] == []


def test_the_api_loads_nothing_heavy() -> None:
    code = "import sys, framework.hookspecs, framework.plugins; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert HEAVY.isdisjoint(run.stdout.split())
