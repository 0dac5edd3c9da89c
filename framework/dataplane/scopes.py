"""Scopes: where interest and messages come from, and which scope hears which.

One matrix, read in both directions: a message from a scope goes to the scopes in its row, and
interest of a scope is told to those in whose rows it stands.

            to  HERE  INNER  ROUTE  GATEWAY  LEAF  HUB  IMPORTS
    HERE         x      x      x       x       x     x      x
    INNER        x             x       x       x     x      x
    ROUTE        x      x                      x
    GATEWAY      x      x      x               x
    LEAF         x      x      x       x       x     x      x
    HUB          x      x                      x            x

What comes from a hub is for this server and its leaf nodes: others of the cluster have links to the
hub of their own. No message goes back to the server that it came from, and no server is told of its
own interest.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Final

from msgspec import Struct


class Scope(IntEnum):
    """Where a link leads."""

    HERE = 0
    """To users of this server, and to what runs in it."""
    INNER = 1
    """To another loop of this server."""
    ROUTE = 2
    """To a server of this cluster."""
    GATEWAY = 3
    """To another cluster."""
    LEAF = 4
    """To a leaf node."""
    HUB = 5
    """From a leaf node to its hub."""
    IMPORTS = 6
    """Nowhere: imports of services, and mappings, of the accounts here. Leaf nodes and hubs are
    told of them; in a cluster each server passes what enters there."""


class ScopeRow(Struct, frozen=True, kw_only=True):
    """What becomes of messages that come from one scope."""

    heard_by: frozenset[Scope]
    picks_groups: bool = False
    """They go to one member of each queue group that there is; else of those that they name."""
    enters_services: bool = False
    """They pass imports of services here: no server before this one has looked at them."""


_EVERYWHERE: Final = frozenset(Scope)
_NEAR: Final = frozenset({Scope.HERE, Scope.INNER, Scope.LEAF})

SCOPES: Final[Mapping[Scope, ScopeRow]] = {
    Scope.HERE: ScopeRow(heard_by=_EVERYWHERE, picks_groups=True, enters_services=True),
    Scope.INNER: ScopeRow(heard_by=_EVERYWHERE - {Scope.INNER}),
    Scope.ROUTE: ScopeRow(heard_by=_NEAR),
    Scope.GATEWAY: ScopeRow(heard_by=_NEAR | {Scope.ROUTE}),
    Scope.LEAF: ScopeRow(heard_by=_EVERYWHERE, enters_services=True),
    Scope.HUB: ScopeRow(heard_by=_NEAR | {Scope.IMPORTS}, enters_services=True),
    Scope.IMPORTS: ScopeRow(heard_by=frozenset()),
}
"""The matrix. Source: nats-server `client.go`, `processMsgResults`; `route.go`, `gateway.go`,
`leafnode.go`, who is told of which interest."""


class GroupClass(IntEnum):
    """When a server's members of a queue group are chosen."""

    EVENLY = 1
    """With those here, by their number."""
    IF_NONE = 2
    """When no member here or in the cluster can take the message; by their number."""
    NEAREST_IF_NONE = 3
    """When there is none at a leaf node either; the one with the shortest round trip."""
