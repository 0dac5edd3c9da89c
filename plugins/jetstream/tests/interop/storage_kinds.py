"""Storage kinds in a folder, as a test plugin: good ones, and ones that misbehave when told so.

The kind `shelf` keeps segments as files. A file `mode` beside them says how it behaves now:
`raise`, `hang`, `cut`, `flip` or `other`; without one it is well. `forget` loses what it is given.
It hangs until somebody writes to the pipe `gate`.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from framework import hookimpl


class Shelf:
    """Keeps segments as files."""

    name = "shelf"

    def open(self, folder):
        self._folder = Path(folder)

    def _mode(self):
        with contextlib.suppress(FileNotFoundError):
            return (self._folder / "mode").read_text()
        return ""

    def _behave(self):
        if self._mode() == "raise":
            raise RuntimeError("the shelf has fallen down")
        if self._mode() == "hang":
            (self._folder / "gate").read_bytes()

    def write(self, name, data):
        self._behave()
        if self._mode() != "forget":
            (self._folder / f"{name}.bytes").write_bytes(data)

    def read(self, name):
        self._behave()
        data = (self._folder / f"{name}.bytes").read_bytes()
        match self._mode():
            case "cut":
                return data[: len(data) // 2]
            case "flip":
                middle = len(data) // 2
                return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
            case "other":
                return bytes(len(data))
        return data

    def remove(self, names):
        self._behave()
        for name in names:
            (self._folder / f"{name}.bytes").unlink(missing_ok=True)

    def close(self):
        pass


@hookimpl(optionalhook=True)
def framework_jetstream_storage(server):
    """Bring the kind."""
    return [Shelf()]
