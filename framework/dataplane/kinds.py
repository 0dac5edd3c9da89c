"""Kinds of links as rows: what links of a kind may say, whose they are, how they stay alive.

The plane asks these rows, never for a kind by its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from framework.dataplane.dialects import CLIENT_DIALECT, ROUTE_DIALECT, Dialect
from framework.dataplane.link import LinkKind
from framework.dataplane.scopes import GroupClass, Scope


class KindTraits(Struct, frozen=True, kw_only=True):
    """What all links of one kind have in common."""

    dialect: Dialect = CLIENT_DIALECT
    """Its verbs."""
    scope: Scope = Scope.HERE
    """Where it leads: what it brings goes to the scopes that hear this one, and it is told of
    their interest."""
    other_scopes: frozenset[Scope] = frozenset()
    """Where some of its links lead instead: `PeerTerms.scope`."""
    group_class: GroupClass = GroupClass.EVENLY
    """When members of queue groups at its end are chosen; of another server."""
    is_user: bool = False
    """Each is a user of one account, who is held to permissions, limits and mappings."""
    enters: bool = False
    """What it publishes enters the cluster here: taps see it. Of a link to a hub: it has entered
    there."""
    is_numbered: bool = False
    """Its INFO says the number of the connection, as `client_id`."""
    is_limited: bool = False
    """`max_connections` counts it."""
    may_be_anonymous: bool = False
    """It needs no CONNECT where no login is required."""
    asks_each_connect: bool = False
    """It is parked at every CONNECT until its owner has answered, not at the first one alone."""
    may_introduce: bool = False
    """One that was accepted may say INFO before its CONNECT, to agree on compression."""
    hears_peer: bool = True
    """Its owner hears of INFO, -ERR and PONG; without it -ERR ends the link."""
    is_told_interest: bool = True
    """More than `max_pending` may wait for it while it is told the interest of this server."""
    stalls: bool = False
    """It is read no further for a while when it publishes to who has much waiting."""
    pings_when_quiet: bool = False
    """It is pinged only when nothing has come of it for the interval."""
    ping_interval_max_s: float | None = 30.0
    """None: no such bound. Source: nats-server `route.go`, `routeMaxPingInterval`."""
    first_ping_s: float = 1.0
    """At the latest. Source: nats-server `client.go`, `setFirstPingTimer`."""

    @property
    def is_peer(self) -> bool:
        """Each goes to another server; its interest stands for that of others."""
        return self.scope is not Scope.HERE


KIND_TRAITS: Final[Mapping[LinkKind, KindTraits]] = {
    LinkKind.CLIENT: KindTraits(
        is_user=True,
        enters=True,
        is_limited=True,
        may_be_anonymous=True,
        asks_each_connect=True,
        hears_peer=False,
        is_told_interest=False,
        stalls=True,
        pings_when_quiet=True,
        ping_interval_max_s=None,
        first_ping_s=2.0,
    ),
    LinkKind.ROUTE: KindTraits(dialect=ROUTE_DIALECT, scope=Scope.ROUTE),
}
"""The kinds of the core; plugins add theirs."""
