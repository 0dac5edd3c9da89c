"""Which plugin's code an error came from, and from which line of it."""

from __future__ import annotations

import sys
import traceback
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

_CORE = "framework"
_OURS = str(Path(__file__).resolve().parents[1])


def home_of(plugin: object) -> str:
    """Return the package that holds a plugin's code, or its module when it has no package."""
    name = plugin.__name__ if isinstance(plugin, ModuleType) else module_of(plugin)
    parts = name.split(".")
    if parts[0] == _CORE:  # a plugin of our own tests: not all of the framework is its code
        return name
    for count in range(1, len(parts)):
        home = ".".join(parts[:count])
        # A namespace package has no file, and may hold other people's code.
        if getattr(sys.modules.get(home), "__file__", None):
            return home
    return name


def module_of(thing: object) -> str:
    """Return the name of the module where a function, a class or the class of an object stands."""
    while isinstance(thing, partial):
        thing = thing.func
    return str(getattr(getattr(thing, "__self__", thing), "__module__", None) or "")


def is_at_home(module: str, home: str) -> bool:
    """Tell whether a module is the home of a plugin, or in it."""
    return module == home or module.startswith(f"{home}.")


def line_of(error: BaseException, home: str) -> str:
    """Return `file:line` of the innermost call of a plugin's code; empty when it was in none."""
    return next((place for module, place in modules_of(error) if is_at_home(module, home)), "")


def modules_of(error: BaseException) -> list[tuple[str, str]]:
    """Return (module, `file:line`) of all calls that an error came through, innermost first."""
    return [
        (frame.f_globals.get("__name__", ""), _place(frame, line)) for frame, line in _frames(error)
    ][::-1]


def line_of_import(error: BaseException) -> str:
    """Return `file:line` of what could not be imported; empty when that is not known."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    place = ""
    for frame, line in _frames(error):
        file = frame.f_code.co_filename
        if not file.startswith(("<", _OURS)) and "importlib" not in file:
            place = f"{file}:{line}"
    return place


def definition_of(function: object) -> str:
    """Return `file:line` where a function begins; empty: it has no code in Python."""
    while isinstance(function, partial):
        function = function.func
    function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else ""


def _place(frame: FrameType, line: int) -> str:
    file = frame.f_code.co_filename
    # What stands in an annotation has no line of its own.
    return frame.f_globals.get("__file__", "") if file.startswith("<") else f"{file}:{line}"


def _frames(error: BaseException) -> Iterator[tuple[FrameType, int]]:
    return traceback.walk_tb(error.__traceback__)
