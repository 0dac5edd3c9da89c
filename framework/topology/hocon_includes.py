"""Includes of HOCON files: pyhocon passes over a file that is not there, with a line in a log."""

from __future__ import annotations

import glob
import re
from collections.abc import Iterator
from pathlib import Path

from framework.topology.errors import TopologyError
from framework.topology.place import Place

__all__ = ["missing_includes"]

_LONG_STRING = re.compile(r'"""(?:.|\n)*?"""')
_INCLUDE = re.compile(
    r"(?:^|[{,])[ \t]*include\s+(?:required\s*\(\s*)?(?:file\s*\(\s*)?\"(?P<path>[^\"\n]+)\"",
    re.MULTILINE,
)
_URL = re.compile(r"[a-z]+://")


def missing_includes(text: str, name: str, folder: Path) -> Iterator[TopologyError]:
    """Yield each include whose file is not there, in included files, too.

    Args:
        text: What stands in the file.
        name: What errors call it.
        folder: What its includes are relative to.
    """
    yield from _missing(text, name, folder, set())


def _missing(text: str, name: str, folder: Path, seen: set[Path]) -> Iterator[TopologyError]:
    bare = _LONG_STRING.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    for found in _INCLUDE.finditer(bare):
        said = found["path"]
        if _URL.match(said):
            continue
        place = _place_of(text, name, found.start("path") - 1)
        for path in _files(folder / said):
            if path not in seen:
                seen.add(path)
                yield from _missing_in(path, place, seen)


def _files(path: Path) -> list[Path]:
    """Return what an include stands for: a pattern for all that match, if any do."""
    if not {"*", "?"} & set(path.name):
        return [path]
    found = glob.glob(str(path), recursive=True)  # noqa: PTH207 - as pyhocon does
    return sorted(map(Path, found)) or [path]


def _missing_in(path: Path, asked_at: Place, seen: set[Path]) -> Iterator[TopologyError]:
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        yield TopologyError(asked_at, f"cannot include {path}: {(reason or str(error)).lower()}")
    else:
        yield from _missing(text, str(path), path.parent, seen)


def _place_of(text: str, name: str, at: int) -> Place:
    return Place(name, text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at))
