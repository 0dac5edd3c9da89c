"""Route URLs: `nats-route://user:password@host:port`."""

from __future__ import annotations

from framework.peering import PeerUrl, parse_peer_url

_SCHEMES = ("nats-route", "nats", "tls")


def parse_route_url(text: str) -> PeerUrl:
    """Read the URL of a route.

    Raises:
        ValueError: It is not `scheme://[user[:password]@]host:port`; says what is wrong with it.
    """
    return parse_peer_url(text, _SCHEMES)
