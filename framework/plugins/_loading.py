"""Load plugins from entry points, modules, files and a folder."""

from __future__ import annotations

import importlib.util
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from framework.errors import PluginError
from framework.plugins._entry_points import entry_points
from framework.plugins._ownership import check_ownership
from framework.plugins._places import line_of_import

if TYPE_CHECKING:
    from collections.abc import Callable

ENTRY_POINT_GROUP = "framework"

STANDARD_PLUGINS = ("auth", "gateway", "jetstream", "leafnode", "route", "websocket")
"""What `pip install 'framework[standard]'` brings."""


class FoundPlugin(Struct, frozen=True):
    """A plugin that was found, not imported yet."""

    name: str
    origin: str
    """For people: a distribution and its version, a module, or a file."""
    imported: Callable[[], object]
    """Imports it; raises whatever that raises."""
    version: str = ""
    """Of its distribution; empty: it has none."""

    def load(self) -> object:
        """Import it.

        Raises:
            PluginError: That failed; the error is its cause.
        """
        try:
            return self.imported()
        except Exception as error:
            problem = f"cannot be imported: {type(error).__name__}: {error}"
            place = line_of_import(error) or self.origin
            raise PluginError(self.name, problem, origin=place) from error


def installed_plugins() -> dict[str, FoundPlugin]:
    """Return what installed distributions offer, by name, in the order of names.

    Raises:
        PluginError: Two distributions offer one name.
    """
    found: dict[str, FoundPlugin] = {}
    for entry_point in entry_points(ENTRY_POINT_GROUP):
        plugin = FoundPlugin(
            entry_point.name,
            f"{entry_point.distribution} {entry_point.version}",
            entry_point.load,
            entry_point.version,
        )
        if entry_point.name in found:
            other = found[entry_point.name].origin
            raise PluginError(
                plugin.name,
                f"is offered by {other} as well as by {plugin.origin}",
                fix="uninstall one of them",
            )
        found[plugin.name] = plugin
    return found


def find_plugin(name: str) -> FoundPlugin:
    """Find what `--plugin` names: a path ending in `.py`, an entry point, or a module.

    Raises:
        PluginError: There is nothing of that name.
    """
    if name.endswith(".py"):
        return _plugin_of_file(Path(name))
    installed = installed_plugins()
    if name in installed:
        return installed[name]
    if _is_module(name):
        return FoundPlugin(name, f"module {name}", lambda: import_module(name))
    raise PluginError(name, "is not installed", fix=suggestion(name, list(installed)))


def folder_plugins(folder: Path) -> list[FoundPlugin]:
    """Return the plugins of a folder, in the order of names: every `*.py` without a leading `_`.

    Raises:
        PluginError: The folder can't be read, or others than this user and root may write it or
            one of its files.
    """
    if not folder.is_dir():
        raise PluginError(str(folder), "is not a folder", fix="create it, or name another one")
    check_ownership(folder)
    files = sorted(folder.glob("*.py"))
    for file in files:
        check_ownership(file)
    return [_plugin_of_file(file) for file in files if not file.name.startswith("_")]


def _plugin_of_file(file: Path) -> FoundPlugin:
    path = file.resolve()
    if not path.is_file():
        raise PluginError(file.stem, "no such file", origin=str(file))
    return FoundPlugin(file.stem, str(file), lambda: _import_file(path))


def _import_file(path: Path) -> object:
    import zlib  # noqa: PLC0415 -- plugins in files are rare

    # Registered like any module: dataclasses look their annotations up in there.
    name = f"framework_plugin_{path.stem}_{zlib.crc32(str(path).encode()):08x}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def suggestion(name: str, installed: list[str]) -> str:
    """Return what somebody may have meant who named a plugin that is not there."""
    from difflib import get_close_matches  # noqa: PLC0415 - for mistakes only

    near = get_close_matches(name, installed, n=1)
    if near:
        return f"did you mean {near[0]}?"
    return f"installed are: {', '.join(installed)}" if installed else "no plugin is installed"
