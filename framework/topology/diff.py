"""Differences between two configurations of a server, and what each needs: reload or restart."""

from __future__ import annotations

from msgspec import Struct

from framework.topology.node import Node
from framework.topology.option import Kind, Option, Reload
from framework.topology.server_config import ServerConfig, walk_values

__all__ = ["Change", "ConfigDiff", "diff_configs"]


class Change(Struct, frozen=True):
    """One option with another value."""

    path: str
    """Dotted, such as `cluster.routes`."""
    old: object
    new: object
    """None when the option, or the block it stands in, is not set."""
    reload: Reload


class ConfigDiff(Struct, frozen=True):
    """All changes, in the order of the options."""

    changes: tuple[Change, ...]
    config: ServerConfig
    """What is to be in force."""

    @property
    def live(self) -> tuple[Change, ...]:
        """Those that come into force at once."""
        return tuple(change for change in self.changes if change.reload is Reload.LIVE)

    @property
    def restart(self) -> tuple[Change, ...]:
        """Those that the server must be restarted for."""
        return tuple(change for change in self.changes if change.reload is Reload.RESTART)


def diff_configs(old: ServerConfig, new: ServerConfig) -> ConfigDiff:
    """Compare two configurations of a server with the same plugins.

    A block that comes or goes counts as one change, unless it brings or takes a block that needs
    more than itself; an address that host and port are part of does not count beside them.
    """
    before = {path: (option, value) for path, option, value in walk_values(old)}
    after = {path: (option, value) for path, option, value in walk_values(new)}
    changes: list[Change] = []
    for path in {**before, **after}:
        option, old_value = before.get(path, (None, None))
        new_option, new_value = after.get(path, (None, None))
        option = option or new_option
        assert option
        if _is_covered(option, path, before, after):
            continue
        if option.kind is Kind.BLOCK:
            if (old_value is None) is not (new_value is None):
                changes.append(Change(path, old_value, new_value, option.reload))
        elif _plain(old_value) != _plain(new_value):
            changes.append(Change(path, old_value, new_value, option.reload))
    return ConfigDiff(tuple(changes), new)


def _is_covered(option: Option, path: str, *sides: dict[str, tuple[Option, object]]) -> bool:
    """Tell whether other changes already say what this one would."""
    above = path.rpartition(".")[0]
    if above and any(above not in side or side[above][1] is None for side in sides):
        block = next(side[above][0] for side in sides if above in side)
        needs_more = option.kind is Kind.BLOCK and option.reload is not Reload.LIVE
        return not needs_more or block.reload is not Reload.LIVE
    prefix = f"{above}." if above else ""
    return option.kind is Kind.LISTEN and all(prefix + name in sides[0] for name in option.spreads)


def _plain(value: object) -> object:
    return value.plain() if isinstance(value, Node) else value
