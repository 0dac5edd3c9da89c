"""Make the reference of all options: `python -m framework.topology.reference`.

Without arguments it writes docs/OPTIONS.md; with --check it only tells whether that is up to
date. Options of the plugins in this tree are part of the page, whatever else is installed.
"""

from __future__ import annotations

import argparse
import inspect
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from framework.topology.option import Kind
from framework.topology.plan import SERVERS_OPTION
from framework.topology.schema import Schema
from framework.topology.topology_file import TOPOLOGY_BLOCK
from framework.topology.values import show_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from framework.topology.option import ConfigSection, Option

__all__ = ["main", "render_reference"]

_PAGE = Path("docs/OPTIONS.md")
_TREE = Path(__file__).parents[2]
_INTRODUCTION = """\
# Options

<!-- Made by `python -m framework.topology.reference`; change the definitions instead. -->

Every option has one definition, from which this page, the flags, the checks and the rules of
reload are made.
Names, defaults and meanings are nats-server's, so its documentation applies.

Options are read from nats-server's `.conf` files, from topologies in TOML and HOCON, and from
the command line, which wins.
A flag takes one dash or two.
*Reload* says what a changed option needs to come into force.

## Types

| Type | Written as |
|---|---|
| true or false | also `yes`, `on`, `no`, `off` |
| size | `4096`; `4KB` is 4 * 1024, `4K` is 4,000; so for M, G, T |
| duration | `250ms`, `10s`, `1m30s`; a plain number is seconds |
| port | 1 to 65535; -1 is any free port |
| address | `host:port`, `:port`, or a port |
| list | in brackets; one text may stand alone; a flag takes commas |

## Topologies

A topology ends in `.toml`, `.hocon` or `.json` and has at its top:

| Key | What it is |
|---|---|"""


def render_reference(sections: Sequence[ConfigSection]) -> str:
    """Return the page for the core and some plugins."""
    lines = [_INTRODUCTION, *_render_topology()]
    for section in Schema(sections).sections:
        lines += _render_section(section)
    return "\n".join(lines) + "\n"


def _render_topology() -> Iterator[str]:
    for option in (*TOPOLOGY_BLOCK.options, SERVERS_OPTION):
        where = "a cluster: " if option is SERVERS_OPTION else ""
        yield f"| {where}`{option.name}` | {option.help} |"


def _render_section(section: ConfigSection) -> Iterator[str]:
    title = f"`{section.name}`, of the {section.plugin} plugin" if section.name else "Server"
    yield f"\n## {title}\n"
    if section.name:
        yield f"{section.help}.\n"
    yield from _table((*section.options, *section.top))
    for option in section.options:
        yield from _inner_tables(option, f"{section.name}.")
    for option in section.top:
        yield from _inner_tables(option, "")
    if section.flags:
        yield ""
        for flag in section.flags:
            yield f"- {_dashed(flag.names)}: {flag.help}"


def _inner_tables(option: Option, above: str) -> Iterator[str]:
    """Yield a table for the inside of a block, and of the blocks in it."""
    if not option.options or option.refusal:
        return
    path = above + option.name
    inside = f"{path}.*." if option.kind is Kind.NAMED else f"{path}."
    yield f"\n### `{inside[:-1]}`\n"
    yield from _table(option.options)
    for inner in option.options:
        yield from _inner_tables(inner, inside)


def _dashed(flags: Sequence[str]) -> str:
    return " ".join(f"`-{flag}`" for flag in flags)


def _table(options: Sequence[Option]) -> Iterator[str]:
    yield "| Option | Type | Default | Flags | Reload | What it does |"
    yield "|---|---|---|---|---|---|"
    for option in options:
        if option.refusal:
            continue
        names = ", ".join(f"`{name}`" for name in option.names)
        caution = f". No effect in this version: {option.inert}" if option.inert else ""
        yield (
            f"| {names} | {_type_of(option)} | {_default_of(option)} | {_dashed(option.flags)} |"
            f" {option.reload.value} | {option.help}{caution} |"
        )


def _type_of(option: Option) -> str:
    if option.choices:
        return " ".join(f"`{choice}`" for choice in option.choices)
    unit = f" of {option.unit}" if option.unit else ""
    return option.kind.value + unit


def _default_of(option: Option) -> str:
    shown = show_value(option, option.default)
    return "" if shown in {"-", "none"} else f"`{shown}`"


def _our_sections() -> list[ConfigSection]:
    """Return the sections of our plugins, in the order of their names."""
    sections: list[ConfigSection] = []
    installed = {entry.name: entry for entry in entry_points(group="framework")}
    folders = [*_TREE.glob("plugins/*"), *_TREE.glob("spark/*")]
    names = {folder.name.removeprefix("framework_") for folder in folders}
    for name in sorted(names & installed.keys()):
        plugin = installed[name].load()
        if hasattr(plugin, "framework_config_sections"):
            hook = plugin.framework_config_sections
            # A page of options doesn't list what other plugins add to them.
            found = hook(*({} for _ in inspect.signature(hook).parameters))
            sections.extend(replace(section, plugin=name) for section in found)
    return sections


def main(argv: Sequence[str] | None = None) -> int:
    """Write the page, or check it; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m framework.topology.reference")
    parser.add_argument("--check", action="store_true", help="only tell whether it is up to date")
    parser.add_argument("page", nargs="?", type=Path, default=_PAGE, help=f"default: {_PAGE}")
    arguments = parser.parse_args(argv)
    text = render_reference(_our_sections())
    page: Path = arguments.page
    if not arguments.check:
        page.write_text(text)
    elif not page.exists() or page.read_text() != text:
        sys.stderr.write(f"{page} is out of date: run python -m framework.topology.reference\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
