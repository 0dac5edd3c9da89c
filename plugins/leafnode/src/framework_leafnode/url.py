"""URLs of hubs: `nats-leaf://user:password@host:port`."""

from __future__ import annotations

from typing import Final

from framework.peering import PeerUrl, parse_peer_url

DEFAULT_PORT: Final = 7422
"""Source: nats-server `const.go`, `DEFAULT_LEAFNODE_PORT`."""
TLS_SCHEMES: Final = ("tls", "nats-leaf+tls")
"""Those that ask for TLS."""
_SCHEMES: Final = ("nats-leaf", "nats", *TLS_SCHEMES)


def parse_hub_url(text: str) -> PeerUrl:
    """Read the URL of a hub; a bare `host:port`, as INFO has it, will do, and so will `host`.

    Raises:
        ValueError: It is not `scheme://[user[:password]@]host[:port]`; says what is wrong with it.
    """
    _, _, address = text.rpartition("@")
    host = address.rpartition("://")[2].rstrip("/")
    has_port = ":" in host.rpartition("]")[2]
    whole = text.rstrip("/") if has_port else f"{text.rstrip('/')}:{DEFAULT_PORT}"
    return parse_peer_url(whole, _SCHEMES)
