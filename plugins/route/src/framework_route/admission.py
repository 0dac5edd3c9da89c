"""Decide whether a connection becomes a route, and in which pool slot.

Source: nats-server `route.go`, `processRouteInfo`, `addRoute`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from framework.peering import Level
from framework.wire.closed_state import ClosedState
from framework_route.limits import POOL_SIZE_MAX
from framework_route.peer import Slot
from framework_route.pool import PoolTerms, agree_on_pool

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from framework.wire.info import RouteInfo
    from framework_route.peer import Connection

NO_DEDICATED_ROUTE: Final = (
    'Not possible to have a dedicated route for account "{account}" between those servers'
)


class Refusal(Struct, frozen=True):
    """Why a connection does not become a route."""

    reason: ClosedState
    text: str
    level: Level = Level.ERROR
    is_final: bool = False
    """Dialing again would end the same way, until the peer is another one."""


NOT_WANTED = Refusal(
    ClosedState.ROUTE_REMOVED, "Account is pinned no more", Level.DEBUG, is_final=True
)
"""Of a connection for one account that was on its way during a reload."""


TOO_MANY = Refusal(
    ClosedState.MAX_CONNECTIONS_EXCEEDED, "maximum connections of one server exceeded"
)


class Place(Struct, frozen=True):
    """The slot of a connection."""

    slot: Slot
    terms: PoolTerms


class Rules(Struct, frozen=True, kw_only=True):
    """What this server demands of peers."""

    server_name: str
    pool_size: int
    """0 or less: no pools."""
    is_strict: bool
    """A peer with another pool size is refused."""
    accounts: Container[str]
    """That are known here."""
    check: Callable[[RouteInfo], str] = lambda _: ""
    """Returns what plugins have against a server."""


def find_place(connection: Connection, info: RouteInfo, rules: Rules) -> Place | Refusal:
    """Return the place of a connection, whether it is free or not, or what is against it.

    Args:
        connection: That has been introduced; one that we dialed knows its place already.
        info: What its server says.
        rules: Ours.
    """
    terms = agree_on_pool(rules.pool_size, info)
    wanted = connection.targets[0].slot if connection.targets else None
    refusal = _refuse(info, rules) or _refuse_late(connection, wanted, info, terms)
    if refusal is not None:
        return refusal
    account = (wanted.account if wanted else "") if connection.is_dialed else info.route_account
    if account:
        return _place_of_account(account, info, terms, rules)
    if not terms.size:
        return Place(Slot(info.server_id), terms)
    index = info.route_pool_idx
    if connection.is_dialed and index:
        return _violation(f"Route pool index should not be set but is set to {index}")
    if not 0 <= index < terms.size:
        return _violation(f"Invalid route pool index: {index} - pool size is {terms.size}")
    return Place(wanted or Slot(info.server_id, index), terms)


def gives_way(existing: Connection, newcomer: Connection, info: RouteInfo, own_id: str) -> bool:
    """Tell whether the connection that has a place is closed in favour of a new one.

    Two servers may dial each other at once. Where both are of our kind, what the one with the
    lesser id has dialed stays, and both see it the same way. A nats-server with pools has given
    the connection its place when it tells us which, so it would close ours. Whatever the peer has
    answered on stays.
    """
    if newcomer.is_dialed or not existing.is_dialed or existing.is_confirmed:
        return False
    if info.pool_shared:
        return info.server_id < own_id
    return info.route_pool_size > 0


def _refuse(info: RouteInfo, rules: Rules) -> Refusal | None:
    """Return what is against any connection with a server."""
    if info.server_name and info.server_name == rules.server_name:
        text = f'Remote server has a duplicate name: "{info.server_name}"'
        return Refusal(ClosedState.DUPLICATE_SERVER_NAME, text)
    if text := rules.check(info):
        return _violation(text)
    theirs = info.route_pool_size
    if not 0 <= theirs <= POOL_SIZE_MAX:
        return _violation(f"Invalid route pool size: {theirs}, more than {POOL_SIZE_MAX}")
    if rules.is_strict and theirs != max(0, rules.pool_size):
        return _violation(f"Mismatch route pool size: {max(0, rules.pool_size)} vs {theirs}")
    return None


def _refuse_late(
    connection: Connection, wanted: Slot | None, info: RouteInfo, terms: PoolTerms
) -> Refusal | None:
    """Return what is against a connection that began when one of the two was another one.

    A further connection that meets another server, or one with a smaller pool, would be taken for
    its first one, which is dialed anyway.
    """
    if wanted is not None:
        is_past = not wanted.account and wanted.pool_index >= terms.size
        if is_past or wanted.remote_id != info.server_id:
            text = f'"{info.server_name}" has no such place any more'
            return Refusal(ClosedState.DUPLICATE_ROUTE, text, Level.DEBUG, is_final=True)
    if not connection.is_dialed and info.pool_shared and info.route_pool_agreed != terms.size:
        text = f"Pool size has changed meanwhile: {terms.size}, not {info.route_pool_agreed}"
        return Refusal(ClosedState.ROUTE_REMOVED, text, Level.DEBUG)
    return None


def _place_of_account(
    account: str, info: RouteInfo, terms: PoolTerms, rules: Rules
) -> Place | Refusal:
    if not terms.size:
        text = NO_DEDICATED_ROUTE.format(account=account)
        return Refusal(ClosedState.PROTOCOL_VIOLATION, text, Level.DEBUG, is_final=True)
    if account not in rules.accounts:
        text = f'No route for account "{account}"'
        return Refusal(ClosedState.MISSING_ACCOUNT, text)
    return Place(Slot(info.server_id, account=account), terms)


def _violation(text: str) -> Refusal:
    return Refusal(ClosedState.PROTOCOL_VIOLATION, text)
