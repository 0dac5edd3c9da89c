"""Entry points of installed distributions, found without the machinery that reads their metadata.

`importlib.metadata` brings the packages `email` and `zipfile` with it: a sixth of the time in
which a server starts, for a few lines of text. Where something other than plain folders is on the
path, such as a zipped application, it is asked all the same.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator

_SUFFIXES: Final = (".dist-info", ".egg-info")


class EntryPoint(Struct, frozen=True):
    """An object that a distribution offers under a name."""

    name: str
    value: str
    """`module` or `module:attribute`."""
    distribution: str
    version: str

    def load(self) -> object:
        """Import the object; raises whatever that raises."""
        module, _, attribute = self.value.partition(":")
        imported = import_module(module.strip())
        return attrgetter(attribute.strip())(imported) if attribute else imported


def entry_points(group: str) -> list[EntryPoint]:
    """Return what installed distributions offer in a group, in the order of names.

    As with every import, a distribution hides those of its name further down the path.

    Source: Python Packaging User Guide, "Entry points specification".
    """
    plain = all(_is_plain(place) for place in sys.path) and not _foreign_finders()
    found = _in_folders(group) if plain else _asked(group)
    return sorted(found, key=lambda entry: entry.name)


def _is_plain(place: str) -> bool:
    return not os.path.isfile(place)  # noqa: PTH113 - pathlib is not worth its time here


def _foreign_finders() -> list[object]:
    """Return finders of distributions that look elsewhere than in the folders of the path."""
    own = "_frozen_importlib_external"
    return [
        finder
        for finder in sys.meta_path
        if hasattr(finder, "find_distributions") and getattr(finder, "__module__", "") != own
    ]


def _asked(group: str) -> Iterator[EntryPoint]:
    import importlib.metadata  # noqa: PLC0415 - costs what this module saves

    for entry in importlib.metadata.entry_points(group=group):
        if entry.dist:
            yield EntryPoint(entry.name, entry.value, entry.dist.name, entry.dist.version)


def _in_folders(group: str) -> Iterator[EntryPoint]:
    seen: set[str] = set()
    for place in sys.path:
        for folder in _metadata_folders(place or "."):
            # A checkout that is installed as editable has `some_name.egg-info`, without a version.
            stem = os.path.splitext(os.path.basename(folder))[0]  # noqa: PTH119, PTH122
            name = stem.partition("-")[0].lower().replace(".", "_")
            if name in seen:
                continue
            seen.add(name)
            for entry_name, value in _lines_of_group(folder, group):
                yield EntryPoint(entry_name, value, *_title(folder))


def _metadata_folders(place: str) -> list[str]:
    try:
        with os.scandir(place) as items:
            return [item.path for item in items if item.name.endswith(_SUFFIXES)]
    except OSError:
        return []


def _lines_of_group(folder: str, group: str) -> Iterator[tuple[str, str]]:
    """Yield (name, value) of a group in the file `entry_points.txt` of a distribution."""
    is_group = False
    for line in _text(folder, "entry_points.txt").splitlines():
        if line.startswith("["):
            is_group = line.strip() == f"[{group}]"
        elif is_group and "=" in line and not line.lstrip().startswith(("#", ";")):
            name, _, value = line.partition("=")
            yield name.strip(), value.partition("[")[0].strip()  # extras, which nobody uses


def _title(folder: str) -> tuple[str, str]:
    """Return the name and version of a distribution."""
    text = _text(folder, "METADATA") or _text(folder, "PKG-INFO")
    head = dict(line.partition(": ")[::2] for line in text.partition("\n\n")[0].splitlines())
    return head.get("Name", folder), head.get("Version", "")


def _text(folder: str, file: str) -> str:
    try:
        with open(f"{folder}/{file}", encoding="utf-8") as opened:  # noqa: PTH123
            return opened.read()
    except OSError:
        return ""
