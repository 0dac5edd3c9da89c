"""Gateway URLs: `nats://user:password@host:port`."""

from __future__ import annotations

from framework.peering import PeerUrl, parse_peer_url

_SCHEMES = ("nats", "tls", "nats-gateway")


def parse_gateway_url(text: str) -> PeerUrl:
    """Read the URL of a gateway; a bare `host:port`, as INFO has it, will do.

    Raises:
        ValueError: It is not `scheme://[user[:password]@]host:port`; says what is wrong with it.
    """
    return parse_peer_url(text, _SCHEMES)
