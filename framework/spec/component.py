"""Actors that a plugin brings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec import Struct

from framework.actors import Component, Supervision
from framework.spec._checks import check, check_function, check_name
from framework.spec.server import ServerContext

SOME_RESTARTS: Final = Supervision()
"""Some restarts, further and further apart; after too many the server stops."""


class ComponentSpec(Struct, frozen=True, kw_only=True):
    """An actor that a server runs from start to stop.

    The core starts components after all that they require, and stops them in reverse.
    """

    name: str
    """Unique in the server; `ServerContext.component` finds the actor by it."""
    factory: Callable[[ServerContext], tuple[type[Component], Mapping[str, Any]]]
    """Returns the actor's class and the keyword arguments of its `__init__`; does no I/O."""
    requires: tuple[str, ...] = ()
    """Names of components that must run before this one and longer than it."""
    supervision: Supervision = SOME_RESTARTS
    """What follows a failure."""
    imports: tuple[str, ...] = ()
    """Modules that `factory` needs and that take long: imported before it is called, while the
    server does other things."""

    def __post_init__(self) -> None:
        check_name("component", self.name)
        what = f"component {self.name}"
        check_function(what, "factory", self.factory)
        are_names = not isinstance(self.requires, str)
        check(what, "requires", self.requires, is_good=are_names, expected="names in a tuple")
        are_modules = not isinstance(self.imports, str)
        check(what, "imports", self.imports, is_good=are_modules, expected="names in a tuple")
        is_known = isinstance(self.supervision, Supervision)
        check(what, "supervision", self.supervision, is_good=is_known, expected="a Supervision")
