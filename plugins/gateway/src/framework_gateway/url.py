"""Gateway URLs: `nats://user:password@host:port`."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

from msgspec import Struct
from typing_extensions import override

from framework_gateway.limits import NAME_LENGTH_MAX

_SCHEMES = ("nats", "tls", "nats-gateway")


class GatewayUrl(Struct, frozen=True):
    """A gateway URL."""

    host: str
    port: int
    user: str = ""
    password: str = ""

    @property
    def address(self) -> str:
        """Return `host:port`, the host in brackets if it is an IPv6 address."""
        return join_host_port(self.host, self.port)

    @property
    def is_address(self) -> bool:
        """Tell whether the host is an IP address, and no name."""
        return ":" in self.host or self.host.replace(".", "").isdecimal()

    @override
    def __repr__(self) -> str:
        return f"GatewayUrl({self.address!r})"  # no log may tell the password


def join_host_port(host: str, port: int) -> str:
    """Return `host:port`, with brackets around an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def parse_gateway_url(text: str) -> GatewayUrl:
    """Read the URL of a gateway; a bare `host:port`, as INFO has it, will do.

    Raises:
        ValueError: It is not `scheme://[user[:password]@]host:port`; says what is wrong with it.
    """
    parts = urlsplit(text if "://" in text else f"nats://{text}")
    if parts.scheme not in _SCHEMES:
        raise ValueError(f"scheme {parts.scheme!r} is none of {', '.join(_SCHEMES)}")
    if parts.path not in {"", "/"} or parts.query or parts.fragment:
        raise ValueError("nothing may follow the port")
    host, port = parts.hostname, parts.port
    if not host or len(host) > NAME_LENGTH_MAX or not host.isprintable() or " " in host:
        raise ValueError("host is missing or malformed")
    if not port:
        raise ValueError("port is missing")
    return GatewayUrl(host, port, unquote(parts.username or ""), unquote(parts.password or ""))
