"""Messaging servers that speak NATS, put together out of plugins."""

from __future__ import annotations

import importlib

from framework.compiled import import_compiled

TYPE_CHECKING = False  # `typing` takes 2 ms, in which no signal is held back yet
if TYPE_CHECKING:
    from framework.hookspecs import hookimpl, hookspec
    from framework.server import Server
    from framework.topology import Topology

__all__ = ["Server", "Topology", "__version__", "hookimpl", "hookspec"]

__version__ = "0.1.0"

import_compiled(__name__)

# Imported on first use: a room that needs none of them pays for none of them.
_HOMES = {
    "Server": "framework.server",
    "Topology": "framework.topology",
    "hookimpl": "framework.hookspecs",
    "hookspec": "framework.hookspecs",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(importlib.import_module(_HOMES[name]), name)
