"""Definition of an option: one for files, flags, reload, checks and the reference."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from functools import cached_property
from typing import Any, TypeAlias

from msgspec import Struct

from framework.topology.node import Node
from framework.topology.place import KeyPath

__all__ = ["ConfigSection", "Flag", "FlagReader", "Kind", "Option", "Reload", "Settle"]

FlagReader: TypeAlias = Callable[[str], Mapping[str, object]]
"""Turns the text of a flag into settings of its section; ValueError says what it expected."""

Settle: TypeAlias = Callable[[dict[str, object]], Iterable[tuple[str | KeyPath, str]]]
"""Fills in what follows from other values of a block, and yields (option, problem) pairs.

The option may be several with a space between: the place is that of the first one set. Or it is
the way to something deeper, as a tuple: `("users", 3, "password")`.
"""


class Kind(Enum):
    """Type of an option; the value is its name in the reference.

    What code gets for it stands in brackets.
    """

    BOOL = "true or false"
    """[bool]; `yes`, `on`, `no` and `off` count in every format."""
    INT = "number"
    """[int]"""
    PORT = "port"
    """[int | None]; -1 in a file means any free port and arrives as 0; 0 means not set."""
    SIZE = "size"
    """[int, bytes]; `8MB` is 8 * 1024 ** 2, `8M` is 8,000,000."""
    DURATION = "duration"
    """[float, seconds]; `1m30s`, `250ms`; a plain number is seconds."""
    STRING = "text"
    """[str]"""
    STRINGS = "list of texts"
    """[tuple[str, ...]]; a single text will do; a flag takes several with commas."""
    LISTEN = "address"
    """[tuple[str, int] | None]; `host:port`, `:port` or a port; sets the options in `spreads`,
    and is made of them again when all is read, so it always tells where to listen."""
    URLS = "list of URLs"
    """[tuple[str, ...]]; in the order given, duplicates dropped; a flag takes commas."""
    MAP = "block of texts"
    """[Mapping[str, str]]"""
    BLOCK = "block"
    """[Mapping[str, object]] by the options inside."""
    BLOCKS = "list of blocks"
    """[tuple[Mapping[str, object], ...]] by the options inside."""
    NAMED = "blocks by name"
    """[Mapping[str, Mapping[str, object]]] by the options inside; users choose the names."""
    FREE = "block of its own form"
    """[Node | None]: its plugin reads it, and finds the place of everything in it."""


class Reload(Enum):
    """What a changed option needs to take effect."""

    LIVE = "at once"
    RESTART = "restart"


class Option(Struct, frozen=True, kw_only=True, dict=True):
    """One option."""

    name: str
    """As nats-server spells it, in lower case."""
    kind: Kind
    help: str
    """What it does for the user; one line, no full stop. The reference and `--help` show it."""
    default: object = None
    """What code gets when nobody sets it, already in the form that `kind` says."""
    unit: str = ""
    """Of a number: "messages", "seconds"; empty when the kind says it."""
    aliases: tuple[str, ...] = ()
    """Other spellings in files."""
    flags: tuple[str, ...] = ()
    """Names on the command line without dashes; each works with one dash and with two."""
    flag_reader: FlagReader | None = None
    """Turns a flag's text into settings of the section; None: the text is this option's value."""
    reload: Reload = Reload.RESTART
    zero_is_default: bool = False
    """0 means the same as not to set it."""
    minimum: float | None = None
    maximum: float | None = None
    """Inclusive bounds of numbers, sizes and durations, in the unit that code gets."""
    choices: tuple[str, ...] = ()
    """The only texts allowed; empty: any."""
    spreads: tuple[str, str] = ("host", "port")
    """Of a LISTEN: the options that its two halves set."""
    options: tuple[Option, ...] = ()
    """Of a BLOCK, BLOCKS or NAMED: what may stand inside."""
    settle: Settle | None = None
    """Of each block: what follows from its values together."""
    normalize: Callable[[Node], Node] | None = None
    """Turns other forms of the value, such as a text for a block, into that of `kind`.

    What it does not know it returns as it is; ValueError says what is wrong.
    """
    secret: bool = False
    """Never shown by checks, only whether it is set."""
    refusal: str = ""
    """Why it cannot be set here although nats-server has it; then setting it is an error, to
    anything but its default."""
    is_off: Callable[[Node], bool] | None = None
    """Of an option with a refusal: whether a value, as it was read, says no more than the default
    does; None: it does if it is the default."""
    inert: str = ""
    """Why it changes nothing in this version; whoever sets it is warned, and goes on."""
    check: Callable[[object], str | None] | None = None
    """Says what is wrong with a converted value; None if nothing."""

    def __post_init__(self) -> None:
        assert self.name == self.name.lower()
        assert not self.help.endswith(".")
        assert not self.inert.endswith(".")
        assert bool(self.options) == (self.kind in {Kind.BLOCK, Kind.BLOCKS, Kind.NAMED})

    @property
    def names(self) -> tuple[str, ...]:
        """All spellings in files, the one to prefer first."""
        return (self.name, *self.aliases)

    @cached_property
    def spellings(self) -> Mapping[str, Option]:
        """Of a block: every spelling of every option inside."""
        return {name: option for option in self.options for name in option.names}

    @cached_property
    def by_name(self) -> Mapping[str, Option]:
        """Of a block: the options inside."""
        return {option.name: option for option in self.options}

    @cached_property
    def defaults(self) -> dict[str, object]:
        """Of a block: the values of all options that nobody sets; to be copied."""
        return {option.name: option.default for option in self.options}

    @cached_property
    def addresses(self) -> tuple[Option, ...]:
        """Of a block: the options that are addresses."""
        return tuple(option for option in self.options if option.kind is Kind.LISTEN)

    @cached_property
    def is_plain(self) -> bool:
        """Whether the value is taken as it stands: no keys inside, one form."""
        return not self.options and self.normalize is None


class Flag(Struct, frozen=True, kw_only=True):
    """A flag that is not simply one option: `-DV` sets two."""

    names: tuple[str, ...]
    """Without dashes."""
    sets: Mapping[str, object]
    """Options of the section and the values they get when the flag is there."""
    help: str


class ConfigSection(Struct, frozen=True, kw_only=True):
    """What one owner adds to the configuration: a block, and options at the top level."""

    name: str
    """The block, as nats-server names it; empty for the core, whose options are the top level."""
    options: tuple[Option, ...] = ()
    """What may stand in the block; none: the block is FREE, and its plugin reads the node."""
    aliases: tuple[str, ...] = ()
    """Other names of the block."""
    plugin: str = ""
    """Who owns it; empty for the core."""
    help: str = ""
    """What the block is for; one line, no full stop."""
    flags: tuple[Flag, ...] = ()
    """Flags besides those of the options; they set options of the block."""
    settle: Settle | None = None
    """What follows from the values of the block together."""
    reload: Reload = Reload.RESTART
    """Of a FREE block, and of a block that comes or goes; options have their own."""
    normalize: Callable[[Node], Node] | None = None
    """Turns other forms of the block, such as `jetstream: enabled`, into one; as of an Option."""
    top: tuple[Option, ...] = ()
    """Options of the same owner that stand at the top level, such as `store_dir`."""
    settle_all: Settle | None = None
    """What follows from the values of the top level together, of all owners; called last."""
    record: type[Struct] | None = None
    """What `ServerConfig.section_as` returns, made once for each configuration."""
    make: Callable[[Mapping[str, Any]], Struct | None] | None = None
    """Makes the record of the values of the block, when all of these are right; None: `record` has
    a field for each option, as `section_of` sees to. It returns None where the block comes to
    nothing."""
    refuse: Callable[[Node], str | None] | None = None
    """Says why nothing of the block makes sense, as files and flags together give it; then that is
    the only error. None: it may."""

    def __post_init__(self) -> None:
        assert self.name or not (self.top or self.plugin), "a plugin's section has a block"

    def as_option(self) -> Option:
        """Return the block as an option of the top level."""
        return Option(
            name=self.name,
            kind=Kind.BLOCK if self.options else Kind.FREE,
            help=self.help,
            aliases=self.aliases,
            options=self.options,
            settle=self.settle,
            reload=self.reload,
            normalize=self.normalize,
        )
