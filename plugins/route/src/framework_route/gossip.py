"""Gossip: INFO about further servers.

Every server tells of every new peer, so any two servers that have a third one in common hear of
each other: from that a full mesh follows, in whichever order they came. Since 2.11 nats-server
leaves out what others seem to have told (`gossip_mode`); when many servers start at once, that can
leave pairs which never hear of each other.

Source: nats-server `route.go`, `forwardNewRouteInfoToKnownServers`, `processImplicitRoute`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.peering import Level, Noted, Tell
from framework_route.info import gossip
from framework_route.url import parse_route_url

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from framework.peering import PeerUrl
    from framework.wire.info import RouteInfo
    from framework_route.effect import MeshEffect
    from framework_route.peer import Connection, Peer


def spread(peers: Sequence[Peer], connection: Connection, info: RouteInfo) -> Iterator[MeshEffect]:
    """Tell the other servers of a new one; nats-server wants to hear of each pinned account, too.

    Cost: one line for each server.
    """
    account = connection.slot.account if connection.slot else ""
    line = gossip(info, account)
    for peer in peers:
        if connection.slot in peer.connections:
            continue
        if account and (peer.info.pool_shared or not peer.terms.size):
            continue
        yield Tell(peer.main.link, line)


def check_gossip(info: RouteInfo, configured: Sequence[PeerUrl]) -> PeerUrl | Noted | None:
    """Return where a server that we were told of is dialed.

    Returns:
        A line for the log when it said no URL; None when it is configured, and so dialed anyway.
    """
    try:
        url = parse_route_url(info.ip)
    except ValueError as error:
        return Noted(Level.ERROR, "Error parsing URL from INFO: {error}", {"error": error})
    for route in configured:
        if route.matches(info.host, info.port) or route.matches(url.host, url.port):
            return None
    return url
