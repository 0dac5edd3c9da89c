"""A block of the configuration as a Struct: one definition for files, flags, checks and code."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
from msgspec import NODEFAULT, Struct

from framework.topology.option import ConfigSection, Flag, Kind, Option, Reload
from framework.topology.place import KeyPath

__all__ = ["Setting", "record_from_values", "section_of"]

S = TypeVar("S", bound=Struct)

_KINDS: Final[Mapping[object, Kind]] = {
    bool: Kind.BOOL,
    int: Kind.INT,
    float: Kind.DURATION,
    str: Kind.STRING,
    tuple[str, ...]: Kind.STRINGS,
    dict[str, str]: Kind.MAP,
    Mapping[str, str]: Kind.MAP,
}


class Setting(Struct, frozen=True, kw_only=True):
    """What users are told of a field, as `Annotated[str, Setting(help="...")]`; see `Option`."""

    help: str
    """One line, no full stop."""
    kind: Kind | None = None
    """None: by the type: bool, int, str, tuple of texts, dict of texts; float is a duration.

    A Struct is a block, a tuple of Structs is a list of blocks, a dict of them blocks by name.
    """
    unit: str = ""
    aliases: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    reload: Reload = Reload.RESTART
    minimum: float | None = None
    maximum: float | None = None
    secret: bool = False
    check: Callable[[Any], str | None] | None = None
    """Says what is wrong with a value; None if nothing."""


def section_of(
    record: type[Struct],
    *,
    name: str,
    help: str,  # noqa: A002
    aliases: tuple[str, ...] = (),
    flags: tuple[Flag, ...] = (),
    reload: Reload = Reload.RESTART,
) -> ConfigSection:
    """Return a section whose block is read as a Struct.

    Fields without a default must be set. What the Struct's `__post_init__` raises as ValueError is
    an error of the file.

    Args:
        record: Each field is an option, and annotated with a `Setting`.
        name: Of the block.
        help: What it is for; one line, no full stop.
        aliases: Other names of the block.
        flags: Beside those of the options.
        reload: Of a block that comes or goes.

    Raises:
        TypeError: A field has no `Setting`, or a type that no option has.
    """
    return ConfigSection(
        name=name,
        help=help,
        aliases=aliases,
        flags=flags,
        reload=reload,
        options=_options(record),
        settle=partial(_settle, record),
        record=record,
    )


def record_from_values(record: type[S], values: Mapping[str, object]) -> S:
    """Return the values of a block as the Struct that its options were made of.

    Raises:
        ValueError: Its `__post_init__` refuses them.
    """
    return msgspec.convert(dict(values), record)


def _options(record: type[Struct]) -> tuple[Option, ...]:
    # Functions in annotations keep these globals; by default they would get the class's names.
    hints = get_type_hints(record, vars(sys.modules[record.__module__]), include_extras=True)
    return tuple(
        _option(record, field, hints[field.name]) for field in msgspec.structs.fields(record)
    )


def _option(record: type[Struct], field: msgspec.structs.FieldInfo, hint: object) -> Option:
    name = f"{record.__name__}.{field.name}"
    setting = next((it for it in get_args(hint)[1:] if isinstance(it, Setting)), None)
    if get_origin(hint) is not Annotated or setting is None:
        raise TypeError(f"{name}: expected Annotated[..., Setting(help=...)], found {hint!r:.80}")
    held = _without_none(get_args(hint)[0])
    kind, inner, choices = _kind(name, held, setting.kind)
    return Option(
        name=field.encode_name,
        kind=kind,
        help=setting.help,
        default=_default(field),
        unit=setting.unit,
        aliases=setting.aliases,
        flags=setting.flags,
        reload=setting.reload,
        minimum=setting.minimum,
        maximum=setting.maximum,
        choices=choices,
        options=_options(inner) if inner else (),
        settle=partial(_settle, inner) if inner else None,
        secret=setting.secret,
        check=setting.check,
    )


def _kind(
    name: str, held: Any, wanted: Kind | None
) -> tuple[Kind, type[Struct] | None, tuple[str, ...]]:
    """Return kind, the Struct of what stands inside, and the only texts allowed."""
    arguments = get_args(held)
    if _is_struct(held):
        return Kind.BLOCK, held, ()
    if get_origin(held) is tuple and _is_struct(arguments[0]):
        return Kind.BLOCKS, arguments[0], ()
    if arguments and _is_struct(arguments[-1]):
        return Kind.NAMED, arguments[-1], ()
    if get_origin(held) is Literal:
        return wanted or Kind.STRING, None, tuple(map(str, arguments))
    kind = wanted or _KINDS.get(held)
    if kind is None:
        raise TypeError(f"{name}: no option holds {held!r:.80}; say which by Setting(kind=...)")
    return kind, None, ()


def _without_none(held: Any) -> Any:
    if get_origin(held) in {Union, types.UnionType}:
        (held,) = [it for it in get_args(held) if it is not type(None)]
    return held


def _is_struct(held: object) -> bool:
    return isinstance(held, type) and issubclass(held, Struct)


def _default(field: msgspec.structs.FieldInfo) -> object:
    if field.default_factory is not NODEFAULT:
        return field.default_factory()
    return None if field.default is NODEFAULT else field.default


def _settle(record: type[Struct], values: dict[str, object]) -> Iterator[tuple[str | KeyPath, str]]:
    """Yield what is missing, or else what the Struct itself has against the values."""
    missing = [name for name in _required(record) if values[name] is None]
    yield from ((name, "expected a value, as it has no default") for name in missing)
    if not missing:
        yield from _objections(record, values)


@cache
def _required(record: type[Struct]) -> tuple[str, ...]:
    """Return the names of fields without a default; to find them reads all annotations anew."""
    return tuple(it.encode_name for it in msgspec.structs.fields(record) if it.required)


def _objections(
    record: type[Struct], values: dict[str, object]
) -> Iterable[tuple[str | KeyPath, str]]:
    try:
        record_from_values(record, values)
    except ValueError as error:
        return [(" ".join(values), str(error))]
    return ()
