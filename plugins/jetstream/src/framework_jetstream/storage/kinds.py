"""The storage kinds that plugins bring."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from framework.errors import PluginError
from framework_jetstream.storage.records import number_of

if TYPE_CHECKING:
    from framework.spec import ServerContext
    from framework_jetstream.storage.records import StorageKind

HOOK: Final = "framework_jetstream_storage"
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,31}")
_OURS: Final = frozenset({"file", "memory"})
_METHODS: Final = ("open", "write", "read", "remove", "close")


def storage_kinds(server: ServerContext) -> dict[str, StorageKind]:
    """Return the kinds of all plugins by name.

    Raises:
        PluginError: A hook failed, what it returned is no kind, or two have one name.
    """
    found: dict[str, StorageKind] = {}
    numbers: dict[int, str] = {}
    for plugin, kinds in server.hooks.describe(HOOK, server=server):
        if not isinstance(kinds, Iterable):
            raise PluginError(plugin, f"{HOOK} must return storage kinds, not {kinds!r:.80}")
        for kind in kinds:
            name = _name_of(plugin, kind)
            other = numbers.setdefault(number_of(name), name)
            if name in found or other != name:
                raise PluginError(plugin, f"brings the storage kind {name}, which is taken")
            found[name] = kind
    return found


def _name_of(plugin: str, kind: object) -> str:
    """Return the name of what a plugin says is a kind."""
    name = getattr(kind, "name", None)
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name in _OURS:
        problem = "must have a `name` of lower case letters, digits and `-`, not file or memory"
        raise PluginError(plugin, f"{HOOK}: {kind!r:.80} {problem}")
    for method in _METHODS:
        if not callable(getattr(kind, method, None)):
            raise PluginError(plugin, f"{HOOK}: the storage kind {name} has no `{method}`")
    return name
