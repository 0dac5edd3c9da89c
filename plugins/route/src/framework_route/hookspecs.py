# mypy: disable-error-code=empty-body
"""Hooks that the route plugin offers: who may have routes, and fields of the INFO of routes.

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
    jetstream: bool = False
    """It has JetStream."""
    domain: str = ""
    """Of its JetStream; empty: none."""
    is_ours: bool = False
    """It is a server of this kind, not a nats-server."""
    is_lame_duck: bool = False
    """It will stop soon, and wants no more clients."""


@hookspec
def framework_route_check(
    server: ServerContext,
) -> Callable[[RoutePeer, Mapping[str, object]], str] | None:
    """Return what says whether another server may have routes to this one; None: any may.

    Assembly. Called once for each server in a cluster, when its ports are bound. What it returns is
    called in the control loop for each connection that would become a route, with the server and
    the fields of its INFO that the protocol does not have, and returns why it may not: words that
    both servers log, with what to do. Empty: it may. The other server dials again, as it does
    after any refusal. An error of it is logged, and refuses nobody.

    Args:
        server: Its addresses are known.
    """


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
