"""Command line flags of nats-server, made from the definitions of options.

As with Go's flag package a name takes one dash or two, a value stands behind `=` or is the
next word, even one that begins with a dash, and a switch takes a value only behind `=`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import NoReturn

from msgspec import Struct, field
from typing_extensions import override

from framework.topology.errors import TopologyError, TopologyErrors
from framework.topology.foreign import explain_foreign_flag
from framework.topology.names import nearest_fix
from framework.topology.node import Node, merge_nodes, table_from_plain
from framework.topology.option import ConfigSection, Flag, Kind, Option
from framework.topology.place import COMMAND_LINE, NOWHERE, Place
from framework.topology.schema import Schema

__all__ = [
    "CommandLine",
    "FlagErrors",
    "FlagHelp",
    "format_help",
    "known_flags",
    "parse_flags",
    "plugin_choice",
]

_SETTINGS = "settings"
_PROGRAM_TITLE = "Flags of the program"
_LIST_KINDS = (Kind.STRINGS, Kind.URLS)
_ACTIONS: Mapping[str, tuple[tuple[str, ...], str, str]] = {
    "config": (("c", "config"), "FILE", "Configuration file"),
    "test": (("t",), "", "Check the configuration file and exit"),
    "signal": (
        ("sl", "signal"),
        "SIGNAL[=PID]",
        "Signal a server: ldm, stop, quit, term, reopen or reload; PID may be a PID file",
    ),
    "version": (("v", "version"), "", "Print the version and exit"),
    "help": (("h", "help"), "", "Print this and exit"),
    "plugins": (("plugin",), "NAME", "Load a plugin: an entry point, a module or a file"),
    "no_plugins": (("no-plugin",), "NAME", "Leave out an installed plugin"),
    "plugins_folder": (("plugins-dir",), "DIR", "Load every plugin in a folder"),
}
_REPEATED = ("plugins", "no_plugins")
_SWITCH_TEXTS = {"1": True, "t": True, "true": True, "0": False, "f": False, "false": False}


class CommandLine(Struct, frozen=True):
    """The parsed command line of one server."""

    settings: Node
    """A block, to be laid over that of the file."""
    config: str | None = None
    """The configuration file."""
    test: bool = False
    signal: str | None = None
    version: bool = False
    help: bool = False
    plugins: list[str] = field(default_factory=list)
    no_plugins: list[str] = field(default_factory=list)
    plugins_folder: str | None = None
    words: tuple[str, ...] = ()
    """What stands behind the flags."""


class FlagErrors(TopologyErrors):
    """The command line does not consist of flags as they are defined.

    nats-server says so, shows its usage, and exits with status 0.
    Source: nats-server `opts.go`, `ConfigureOptions`; its `main.go`, `usage`.
    """


class _Parser(argparse.ArgumentParser):
    @override
    def error(self, message: str) -> NoReturn:
        raise _refuse(message)


class _HelpFormatter(argparse.HelpFormatter):
    """Shows what a flag takes once, behind all of its names."""

    @override
    def _format_action_invocation(self, action: argparse.Action) -> str:
        return f"{', '.join(action.option_strings)} {action.metavar or ''}".rstrip()


def parse_flags(argv: Sequence[str], schema: Schema) -> CommandLine:
    """Read the command line of one server.

    Args:
        argv: The words behind the name of the program.
        schema: The options that exist, those of the plugins included.

    Raises:
        FlagErrors: A flag is unknown or has no value.
        TopologyErrors: It belongs to an absent plugin, or to what is not there yet.
    """
    parser, switches = _build_parser(schema)
    flags, words = _split_words(argv, switches)
    found = vars(parser.parse_args(flags))
    settings = Node({}, Place(COMMAND_LINE))
    for setting in found.pop(_SETTINGS) or []:
        settings = merge_nodes(settings, setting)
    return CommandLine(settings=settings, words=words, **found)


def plugin_choice(argv: Sequence[str]) -> tuple[list[str], list[str], str | None]:
    """Read only which plugins to load, before the flags that they bring are known.

    Returns:
        Names to load, names to leave out, and the folder to load from.
    """
    names = {flag: action for action, row in _ACTIONS.items() for flag in row[0]}
    chosen: dict[str, list[str]] = {action: [] for action in _ACTIONS}
    words = iter(argv)
    for word in words:
        name, equals, value = word.lstrip("-").partition("=")
        action = names.get(name) if word.startswith("-") else None
        if action in {"plugins", "no_plugins", "plugins_folder"}:
            chosen[str(action)].append(value if equals else next(words, ""))
    folder = chosen["plugins_folder"][-1] if chosen["plugins_folder"] else None
    return chosen["plugins"], chosen["no_plugins"], folder


def format_help(schema: Schema, program: str) -> str:
    """Return what `--help` prints."""
    parser, _ = _build_parser(schema, program)
    return parser.format_help()


class FlagHelp(Struct, frozen=True):
    """What people and shells are told of a flag."""

    group: str
    names: tuple[str, ...]
    """Without dashes."""
    metavar: str
    """What its value is; empty: it is a switch."""
    help: str


def known_flags(schema: Schema) -> Iterator[FlagHelp]:
    """Yield the flags that `--help` shows, in its order."""
    for names, metavar, text in _ACTIONS.values():
        yield FlagHelp(_PROGRAM_TITLE, names, metavar, text)
    for section in schema.sections:
        title = _title_of(section)
        for flag in section.flags:
            yield FlagHelp(title, tuple(flag.names), "", flag.help)
        for option, _ in _options_of(section):
            if option.flags and not option.refusal:
                metavar = "" if option.kind is Kind.BOOL else option.kind.name
                yield FlagHelp(title, tuple(option.flags), metavar, option.help)


def _title_of(section: ConfigSection) -> str:
    return f"Flags of the {section.plugin} plugin" if section.plugin else "Flags of the server"


def _split_words(
    argv: Sequence[str], switches: Mapping[str, bool]
) -> tuple[list[str], tuple[str, ...]]:
    """Give every flag its value behind `=`; return the flags and the words behind them."""
    flags: list[str] = []
    words = list(argv)
    while words and words[0].startswith("-") and words[0] not in {"-", "--"}:
        name, equals, value = words.pop(0).partition("=")
        bare = name[2:] if name.startswith("--") else name[1:]
        if bare not in switches:
            known = explain_foreign_flag(bare)
            problem = known or f"flag provided but not defined: -{bare}"
            if known:
                raise TopologyErrors([TopologyError(NOWHERE, problem)])
            raise _refuse(problem, nearest_fix(bare, switches, "-"))
        if not equals and not switches[bare] and not words:
            raise _refuse(f"flag needs an argument: -{bare}")
        if not equals:
            value = "true" if switches[bare] else words.pop(0)
        flags.append(f"-{bare}={value}")
    return flags, tuple(words)


def _build_parser(schema: Schema, program: str = "") -> tuple[_Parser, dict[str, bool]]:
    """Return a parser, and of each flag whether it is a switch."""
    parser = _Parser(
        prog=program,
        usage=f"{program} [flags]",
        add_help=False,
        allow_abbrev=False,
        argument_default=None,
        formatter_class=lambda prog: _HelpFormatter(prog, max_help_position=34),
    )
    parser.set_defaults(**{_SETTINGS: None})
    switches: dict[str, bool] = {}
    group = parser.add_argument_group(_PROGRAM_TITLE)
    for action, row in _ACTIONS.items():
        _add_action(group, action, *row)
        switches.update(dict.fromkeys(row[0], not row[1]))
    for section in schema.sections:
        group = parser.add_argument_group(_title_of(section))
        for flag in section.flags:
            _add_flag(group, section.name, flag)
            switches.update(dict.fromkeys(flag.names, True))
        for option, block in _options_of(section):
            if option.flags:
                _add_option(group, block, option)
                switches.update(dict.fromkeys(option.flags, option.kind is Kind.BOOL))
    return parser, switches


def _options_of(section: ConfigSection) -> list[tuple[Option, str]]:
    """Return all options that may have flags, with the block that each stands in."""
    placed = [(option, section.name) for option in section.options]
    placed += [(option, "") for option in section.top]
    inner = [
        (part, option.name) for option, block in placed if not block for part in option.options
    ]
    return placed + inner


def _dashed(names: Sequence[str]) -> list[str]:
    return [f"-{name}" for name in names]


def _add_action(
    group: argparse._ArgumentGroup, action: str, names: Sequence[str], metavar: str, text: str
) -> None:
    if not metavar:
        group.add_argument(
            *_dashed(names), dest=action, help=text, type=_switch, default=False, metavar=""
        )
    elif action in _REPEATED:
        group.add_argument(
            *_dashed(names), dest=action, help=text, action="append", default=[], metavar=metavar
        )
    else:
        group.add_argument(*_dashed(names), dest=action, help=text, metavar=metavar)


def _add_option(group: argparse._ArgumentGroup, block: str, option: Option) -> None:
    """Make a flag of which the value is a block of settings."""

    def read(text: str) -> Node:
        try:
            values = _settings_from(option, text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None
        return _in_block(block, values, option.flags[0])

    group.add_argument(
        *_dashed(option.flags),
        dest=_SETTINGS,
        action="append",
        type=read,
        metavar="" if option.kind is Kind.BOOL else option.kind.name,
        help=argparse.SUPPRESS if option.refusal else option.help,
    )


def _settings_from(option: Option, text: str) -> Mapping[str, object]:
    if option.flag_reader:
        return option.flag_reader(text)
    if option.kind is Kind.BOOL:
        return {option.name: _switch(text)}
    if option.kind in _LIST_KINDS:
        return {option.name: [part.strip() for part in text.split(",") if part.strip()]}
    return {option.name: text}


def _add_flag(group: argparse._ArgumentGroup, block: str, flag: Flag) -> None:
    """Make a switch that sets several options; `-DV=false` turns them off."""

    def read(text: str) -> Node:
        on = _switch(text)
        values = {name: value if on else not value for name, value in flag.sets.items()}
        return _in_block(block, values, flag.names[0])

    group.add_argument(
        *_dashed(flag.names),
        dest=_SETTINGS,
        action="append",
        type=read,
        metavar="",
        help=flag.help,
    )


def _in_block(block: str, values: Mapping[str, object], flag: str) -> Node:
    place = Place(COMMAND_LINE, key=f"-{flag}")
    return table_from_plain({block: dict(values)} if block else dict(values), place)


def _switch(text: str) -> bool:
    if text.lower() not in _SWITCH_TEXTS:
        raise argparse.ArgumentTypeError(f'expected true or false, found "{text}"')
    return _SWITCH_TEXTS[text.lower()]


def _refuse(problem: str, fix: str = "") -> FlagErrors:
    return FlagErrors([TopologyError(NOWHERE, problem, fix)])
