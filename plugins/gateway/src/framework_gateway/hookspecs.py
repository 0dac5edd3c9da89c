# mypy: disable-error-code=empty-body
"""Hooks that the gateway plugin offers: which servers of other clusters may have gateways.

A plugin implements them by their names, with `@hookimpl(optionalhook=True)` where it is of use
without gateways as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from framework.hookspecs import hookspec

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework.spec import ServerContext


class GatewayPeer(Struct, frozen=True):
    """A server of another cluster with a gateway connection to this one, whoever dialed."""

    server_id: str
    """Public key that stands for this run of it."""
    name: str
    cluster: str
    version: str


@hookspec
def framework_gateway_check(
    server: ServerContext, recheck: Callable[[], None]
) -> Callable[[GatewayPeer], str] | None:
    """Return what says whether a server of another cluster may be connected; None: any may.

    Assembly. Called once for each server with gateways, when its ports are bound. What it returns
    is called in the control loop for each connection that would become a gateway, and returns why
    it may not: words that both servers log, with what to do. Empty: it may. Whoever has dialed
    dials again, as after any refusal. An error of it is logged, and refuses nobody.

    Args:
        server: Its addresses are known.
        recheck: Asks again about all connections that there are; to be called in the control loop,
            when something was learned of a server that INFO of gateways does not tell.
    """
