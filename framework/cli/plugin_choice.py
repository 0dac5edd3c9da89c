"""Choose the plugins that a command loads: `--plugin`, `--no-plugin`, `--plugins-dir`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence

    from framework.plugins import PluginRegistry

_FLAGS = (
    ("--plugin", "NAME", "load a plugin: an entry point, a module or a file.py"),
    ("--no-plugin", "NAME", "leave out an installed plugin"),
    ("--plugins-dir", "DIR", "load every plugin in a folder"),
)


class PluginChoice(Struct, frozen=True):
    """Plugins that the user has chosen."""

    names: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    folder: str | None = None

    @classmethod
    def from_words(cls, words: Sequence[str]) -> PluginChoice:
        """Read the choice out of a command line, whatever else stands there.

        Plugins bring flags and commands, so they are chosen before all of it can be understood.
        """
        from framework.topology import plugin_choice  # noqa: PLC0415

        names, excluded, folder = plugin_choice(words)
        return cls(tuple(names), tuple(excluded), folder)

    def words(self) -> list[str]:
        """Return the words that say this choice, for the command line of a child."""
        words = [word for name in self.names for word in ("--plugin", name)]
        words += [word for name in self.excluded for word in ("--no-plugin", name)]
        return words + (["--plugins-dir", self.folder] if self.folder is not None else [])

    def registry(self, listed: Iterable[str] | None = None) -> PluginRegistry:
        """Load the plugins.

        Args:
            listed: Those that a topology lists, which then stand for all that are installed.

        Raises:
            PluginError: One can't be found or loaded.
        """
        from framework.plugins import PluginRegistry  # noqa: PLC0415

        return PluginRegistry.load(
            (*(listed or ()), *self.names),
            excluded=self.excluded,
            folder=None if self.folder is None else Path(self.folder),
            installed=listed is None,
        )


def add_plugin_flags(parser: argparse.ArgumentParser) -> None:
    """Let a command choose plugins."""
    from argparse import SUPPRESS  # noqa: PLC0415 - `serve` reads its flags without it

    group = parser.add_argument_group("plugins")
    for flag, metavar, text in _FLAGS:
        # Only so that they are known, and explained: `PluginChoice.from_words` has read them.
        group.add_argument(flag, metavar=metavar, help=text, default=SUPPRESS)
