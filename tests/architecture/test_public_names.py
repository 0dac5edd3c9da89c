"""Each public name is exported, means one thing, and is documented."""

from __future__ import annotations

import importlib
import inspect
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
ROOMS = sorted(
    ".".join(path.parent.relative_to(ROOT).parts)
    for path in ROOT.glob("framework/*/__init__.py")
    if "tests" not in path.parts
)


def exported(room: str) -> tuple[ModuleType, list[str]]:
    module = importlib.import_module(room)
    return module, list(getattr(module, "__all__", ()))


@pytest.mark.parametrize("room", ["framework", *ROOMS])
def test_room_says_what_it_exports(room: str) -> None:
    module, names = exported(room)

    assert len(names) == len(set(names))
    assert [name for name in names if not hasattr(module, name)] == []
    assert [name for name in names if name.startswith("_") and name != "__version__"] == []
    assert module.__doc__


@pytest.mark.parametrize("room", ["framework", *ROOMS])
def test_public_names_are_documented(room: str) -> None:
    module, names = exported(room)
    objects = {name: getattr(module, name) for name in names}
    described = {
        name: value
        for name, value in objects.items()
        if inspect.isclass(value) or inspect.isfunction(value)
    }

    assert [name for name, value in described.items() if not inspect.getdoc(value)] == []


def test_a_name_means_one_thing() -> None:
    meanings: dict[str, dict[int, str]] = defaultdict(dict)
    for room in ROOMS:
        module, names = exported(room)
        for name in names:
            meanings[name].setdefault(id(getattr(module, name)), room)

    assert {name: rooms for name, rooms in meanings.items() if len(rooms) > 1} == {}
