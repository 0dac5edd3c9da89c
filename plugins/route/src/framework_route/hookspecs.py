# mypy: disable-error-code=empty-body
"""Hooks that the route plugin offers: fields of the INFO that servers of a cluster exchange.

A plugin implements them by their names, with `@hookimpl(optionalhook=True)` where it is of use
without routes as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from framework.hookspecs import hookspec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from framework.spec import ServerContext


class RoutePeer(Struct, frozen=True):
    """A server of the cluster with a route to this one."""

    server_id: str
    """Public key that stands for this run of it."""
    name: str
    version: str
    is_lame_duck: bool = False
    """It will stop soon, and wants no more clients."""


@hookspec
def framework_route_info_fields(
    server: ServerContext,
    change: Callable[[Mapping[str, object | None]], None],
    gossip: Callable[[Mapping[str, object]], None],
) -> Mapping[str, object]:
    """Return fields for the INFO that this server sends on routes.

    Assembly. Called once for each server in a cluster, when its ports are bound. A field that the
    protocol of routes has, or that two plugins return, stops the start.

    Args:
        server: Its addresses are known.
        change: Merges fields (None removes one), which are then sent on all routes; to be called
            in the control loop, later.
        gossip: Sends an INFO about another cluster, which it names as `gateway`, on one route to
            each server; those that come later are not told. As `change`.
    """


@hookspec
def framework_route_info_received(
    server: ServerContext, peer: RoutePeer, fields: Mapping[str, object]
) -> None:
    """Hear fields that another server has sent in INFO, and that the protocol does not have.

    Notice. Called when a server has logged in by its first route, whenever its fields have
    changed or it begins to be a lame duck, and when its last route has ended; not for those that
    send none. What they hold is the peer's: check it.

    Args:
        server: Where it happened.
        peer: Who says so.
        fields: As JSON has them, at most 1 MiB; empty: they are gone, perhaps with the server.
    """


@hookspec
def framework_route_gossip_received(
    server: ServerContext, peer: RoutePeer, fields: Mapping[str, object]
) -> None:
    """Hear what another server tells of another cluster, by an INFO that is not about itself.

    Notice. Called for each such INFO. What it holds is the peer's: check it.

    Args:
        server: Where it happened.
        peer: Who says so.
        fields: `gateway`, the name of the cluster, and those that the protocol does not have.
    """
