"""Includes and environment variables of configuration files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from framework.topology.errors import TopologyError, TopologyErrors
from framework.topology.limits import FILE_BYTES_MAX, INCLUDE_DEPTH_MAX, INCLUDED_FILES_MAX
from framework.topology.natsconf.parser import Parser
from framework.topology.natsconf.source import Source
from framework.topology.node import Node
from framework.topology.place import Place

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework.topology.node import Table

__all__ = ["load_conf", "parse_conf", "read_text"]

_VARIABLE_KEY = "value"


def load_conf(path: str | os.PathLike[str], environ: Mapping[str, str] = os.environ) -> Node:
    """Parse a nats-server configuration file and all that it includes.

    Args:
        path: The file, as errors shall name it.
        environ: Where variables are looked up that no file sets.

    Raises:
        TopologyErrors: A file cannot be read or parsed; the first mistake only.
    """
    name = os.fspath(path)
    top = Place(name)
    loading = _Loading(environ)
    return Node(loading.load_file(Path(name), name, top), Place(name, 1, 1), top)


def parse_conf(text: str, name: str = "text", environ: Mapping[str, str] = os.environ) -> Node:
    """Parse a text in nats-server's configuration language; it may include files.

    Raises:
        TopologyErrors: The text, or a file it includes, cannot be parsed.
    """
    source = Source(name, text, Path())
    return Node(Parser(source, _Loading(environ)).parse(), Place(name, 1, 1), Place(name))


def read_text(path: Path, name: str, asked_at: Place) -> str:
    """Read a configuration file, bytes that are not UTF-8 as lone surrogates.

    Raises:
        TopologyErrors: It cannot be read, or is too large to be meant.
    """
    try:
        if path.stat().st_size > FILE_BYTES_MAX:
            problem = f"{name} is larger than {FILE_BYTES_MAX:,} bytes"
            raise TopologyErrors([TopologyError(asked_at, problem)])
        return path.read_bytes().decode(errors="surrogateescape")
    except OSError as error:
        reason = error.strerror or type(error).__name__
        what = "it" if name == asked_at.file else name
        problem = f"cannot read {what}: {reason}"
        raise TopologyErrors([TopologyError(asked_at, problem)]) from error


class _Loading:
    """What is open while one file is loaded; gives its parsers their surroundings."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._open: dict[str, str] = {}
        """What is being parsed: its full path or variable to what errors call it."""
        self._files_count = 0

    def load_file(self, path: Path, name: str, asked_at: Place) -> Table:
        """Parse one file, of which the name is what errors shall call it."""
        self._files_count += 1
        if self._files_count > INCLUDED_FILES_MAX:
            raise _refuse(asked_at, f"more than {INCLUDED_FILES_MAX} files are included")
        text = read_text(path, name, asked_at)
        return self._parse(str(path.resolve()), Source(name, text, path.parent), asked_at)

    def include(self, path: str, source: Source, offset: int) -> Table:
        """Parse a file that another one names, relative to that one.

        An absolute path counts as relative, too: nats-server joins them so.
        """
        asked_at = source.place(offset)
        if not path:
            raise _refuse(asked_at, "`include` needs a path")
        target = source.folder / path.lstrip("/")
        return self.load_file(target, str(target), asked_at)

    def variable(self, name: str, source: Source, offset: int) -> Node | None:
        """Parse a variable of the environment, as if its text stood behind a key."""
        if name not in self._environ:
            return None
        text = f"{_VARIABLE_KEY}={self._environ[name]}"
        inner = Source(f"${name}", text, Path())
        return self._parse(f"${name}", inner, source.place(offset)).get(_VARIABLE_KEY)

    def _parse(self, identity: str, source: Source, asked_at: Place) -> Table:
        if identity in self._open:
            names = list(self._open.values())
            chain = " → ".join([*names[list(self._open).index(identity) :], source.name])
            raise _refuse(asked_at, f"{source.name} refers to itself: {chain}")
        if len(self._open) == INCLUDE_DEPTH_MAX:
            raise _refuse(asked_at, f"more than {INCLUDE_DEPTH_MAX} files within each other")
        self._open[identity] = source.name
        try:
            return Parser(source, self).parse()
        finally:
            del self._open[identity]


def _refuse(place: Place, problem: str) -> TopologyErrors:
    return TopologyErrors([TopologyError(place, problem)])
