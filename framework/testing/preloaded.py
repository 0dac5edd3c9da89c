"""Imports what a server of ours may need, with all plugins that are installed: `forked_server`."""

from __future__ import annotations

import gc
import importlib
import pkgutil
from contextlib import suppress
from importlib.metadata import entry_points

_LEFT_OUT = {"__main__", "tests", "testing"}


def _import_all(package: str) -> None:
    path = getattr(importlib.import_module(package), "__path__", ())
    for module in pkgutil.iter_modules(path):
        if module.name not in _LEFT_OUT:
            # Whoever needs it meets the error again.
            with suppress(Exception):
                _import_all(f"{package}.{module.name}")


for _name in ("framework.cli.serve", "framework.server"):
    importlib.import_module(_name)
for _name in {entry.module.partition(".")[0] for entry in entry_points(group="framework")}:
    with suppress(Exception):
        _import_all(_name)
gc.collect()
gc.freeze()  # servers share these pages
