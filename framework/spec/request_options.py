"""Options of a monitoring document: a Struct, for the query of a URL and the JSON of a request."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import cache
from typing import Annotated, Any, Final, TypeAlias, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta, Struct

from framework.spec.query import read_bool_or_details, read_details

Unsigned: TypeAlias = Annotated[int, Meta(ge=0)]
"""A number without a sign."""


class InQuery(Struct, frozen=True):
    """How an option is called in the query of a URL, as `Annotated[bool, InQuery("subs")]`."""

    name: str
    """Empty: a query has no such option."""
    read: Callable[[Mapping[str, str], str], Any] | None = None
    """Returns the value of a name in a query, or raises `BadQuery`; None: by the type."""


class NoOptions(Struct, frozen=True):
    """The document is always the same."""


class OptionField(Struct, frozen=True):
    """A field of the Struct: an option and its names."""

    name: str
    kind: str
    """Of its value, in Go's words, for errors."""
    json_name: str
    in_query: InQuery


_GO_KINDS: Final[Mapping[object, str]] = {
    bool: "bool",
    int: "int",
    str: "string",
    tuple[str, ...]: "[]string",
}


@cache
def option_fields(options: type[Struct]) -> tuple[OptionField, ...]:
    """Return the options that a Struct holds, in its order.

    Raises:
        TypeError: A field has no default, or a type that no option has.
    """
    # Functions in annotations keep these globals; by default they would get the class's names.
    hints = get_type_hints(options, vars(sys.modules[options.__module__]), include_extras=True)
    return tuple(_field(options, it, hints[it.name]) for it in msgspec.structs.fields(options))


def _field(options: type[Struct], field: msgspec.structs.FieldInfo, hint: Any) -> OptionField:
    held, *extras = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    kind = _GO_KINDS.get(held)
    what = f"{options.__name__}.{field.name}"
    if kind is None:
        expected = "bool, int, Unsigned, str or tuple[str, ...]"
        raise TypeError(f"{what}: expected {expected}, found {held!r:.80}")
    if field.required:
        raise TypeError(f"{what}: expected a default: a request may leave it out")
    named = (it for it in extras if isinstance(it, InQuery))
    is_unsigned = any(isinstance(it, Meta) and it.ge == 0 for it in extras)
    return OptionField(
        name=field.name,
        kind="uint64" if is_unsigned else kind,
        json_name=field.encode_name,
        in_query=next(named, InQuery(field.encode_name)),
    )


# -- the same whether a plugin answers, or the core where that plugin is not ----------------------


class GatewayzOptions(Struct, frozen=True, kw_only=True):
    """Options of `/gatewayz`."""

    name: Annotated[str, InQuery("gw_name")] = ""
    accounts: Annotated[bool, InQuery("accs")] = False
    account_name: Annotated[str, InQuery("acc_name")] = ""
    subscriptions: Annotated[bool, InQuery("subs", read_bool_or_details)] = False
    subscriptions_detail: Annotated[bool, InQuery("subs", read_details)] = False


class LeafzOptions(Struct, frozen=True, kw_only=True):
    """Options of `/leafz`."""

    subscriptions: Annotated[bool, InQuery("subs")] = False
    account: Annotated[str, InQuery("acc")] = ""
