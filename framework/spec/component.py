"""Actors that a plugin brings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from framework.actors import Supervision

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from framework.actors import Component
    from framework.spec.server import ServerContext

SOME_RESTARTS: Final = Supervision()
"""Some restarts, further and further apart; after too many the server stops."""


class ComponentSpec(Struct, frozen=True, kw_only=True):
    """One actor that a server runs from its start to its stop.

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
