"""Actors that a plugin brings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from framework.actors import Component, Supervision
    from framework.spec.server import ServerContext

    Factory: TypeAlias = Callable[[ServerContext], tuple[type[Component], Mapping[str, Any]]]
    """Returns the actor's class and the keyword arguments of its `__init__`; does no I/O."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentSpec:
    """One actor that a server runs from its start to its stop.

    The core starts components after all that they require, and stops them in reverse.
    """

    name: str
    """Unique in the server; `ServerContext.component` finds the actor by it."""
    factory: Factory
    requires: tuple[str, ...] = ()
    """Names of components that must run before this one and longer than it."""
    supervision: Supervision | None = None
    """What follows a failure; None: what the actor system does by default."""
