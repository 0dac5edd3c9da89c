"""The schema of a server's configuration: options of the core and of its plugins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from framework.errors import PluginError
from framework.topology.absent_options import absent_for
from framework.topology.core_options import CORE_SECTION
from framework.topology.errors import Mistakes
from framework.topology.foreign import explain_foreign_key
from framework.topology.node import Node
from framework.topology.option import ConfigSection, Kind, Option
from framework.topology.place import KeyPath
from framework.topology.spelling import rename_keys

__all__ = ["Schema"]


class Schema:
    """Options that a configuration may have with certain plugins.

    Args:
        sections: What the plugins declare, in the order in which they were loaded; the core's own
            is always there.

    Raises:
        PluginError: Two owners claim one key or flag.
    """

    def __init__(self, sections: Iterable[ConfigSection] = ()) -> None:
        self.sections = (CORE_SECTION, *sections)
        absent = absent_for(self._claims())
        core = replace(CORE_SECTION, options=(*CORE_SECTION.options, *absent))
        self.sections = (core, *self.sections[1:])
        top = [*core.options]
        for section in self.sections[1:]:
            top.extend(section.top)
            if section.name:
                top.append(section.as_option())
        self.root = Option(
            name="",
            kind=Kind.BLOCK,
            help=CORE_SECTION.help,
            options=tuple(top),
            settle=self._settle,
        )

    def _settle(self, values: dict[str, object]) -> Iterator[tuple[str | KeyPath, str]]:
        for section in self.sections:
            settle = section.settle_all if section.name else section.settle
            if settle:
                yield from settle(values)

    def rename(self, node: Node, mistakes: Mistakes) -> Node:
        """Return the settings of one file or level with every key in its first spelling."""
        return rename_keys(self.root, node, mistakes, self.explain_unknown)

    def explain_unknown(self, key: str) -> str | None:
        """Say whose a key is that no section here has; None if nobody's."""
        return explain_foreign_key(key)

    def walk(self) -> Iterator[tuple[str, Option]]:
        """Yield every option with its dotted path, blocks before what stands in them."""
        yield from _walk(self.root, "")

    def option(self, path: str) -> Option | None:
        """Return the option with a dotted path; None if there is none."""
        return dict(self.walk()).get(path)

    def _claims(self) -> set[str]:
        """Return all keys of the top level and all flags.

        Raises:
            PluginError: Two owners claim the same.
        """
        owners: dict[str, ConfigSection] = {}
        for section in self.sections:
            for claim in _claims(section):
                other = owners.setdefault(claim, section)
                if other is not section:
                    raise _two_owners(claim, other.plugin, section.plugin)
        return {*owners}


def _two_owners(claim: str, first: str, last: str) -> PluginError:
    if not first:
        problem, fix = f"claims `{claim}`, which belongs to the core", f"--no-plugin {last}"
        return PluginError(last, problem, fix=f"leave it out: {fix}")
    problem = f"claims `{claim}`, which belongs to plugin {first} already; that was loaded before"
    return PluginError(
        last, problem, fix=f"leave one out: --no-plugin {first} or --no-plugin {last}"
    )


def _claims(section: ConfigSection) -> Iterator[str]:
    """Yield the keys of the top level and the flags that a section makes its own."""
    top = section.top if section.name else section.options
    for option in top:
        yield from option.names
    if section.name:
        yield from (section.name, *section.aliases)
    inner = (part for option in section.options if not section.name for part in option.options)
    for option in (*section.top, *section.options, *inner):
        yield from (f"-{flag}" for flag in option.flags)
    for switch in section.flags:
        yield from (f"-{flag}" for flag in switch.names)


def _walk(block: Option, path: str) -> Iterator[tuple[str, Option]]:
    for option in block.options:
        inner = f"{path}.{option.name}" if path else option.name
        yield inner, option
        yield from _walk(option, inner)
