"""Route URLs: `nats-route://user:password@host:port`."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

from msgspec import Struct
from msgspec.structs import replace
from typing_extensions import override

from framework_route.limits import NAME_LENGTH_MAX

_SCHEMES = ("nats", "nats-route", "tls")


class RouteUrl(Struct, frozen=True):
    """A route URL."""

    host: str
    port: int
    user: str = ""
    password: str = ""
    scheme: str = "nats-route"

    @property
    def address(self) -> str:
        """Return `host:port`, the host in brackets if it is an IPv6 address."""
        return join_host_port(self.host, self.port)

    @property
    def is_address(self) -> bool:
        """Tell whether the host is an IP address, and no name."""
        return ":" in self.host or self.host.replace(".", "").isdecimal()

    def matches(self, host: str, port: int) -> bool:
        """Tell whether this URL names exactly this address; names are not resolved."""
        return port == self.port and host.lower() == self.host.lower()

    def with_login(self, user: str, password: str) -> RouteUrl:
        """Return the same address with other credentials."""
        return replace(self, user=user, password=password)

    @override
    def __str__(self) -> str:
        login = f"{self.user}:xxxxx@" if self.password else f"{self.user}@" if self.user else ""
        return f"{self.scheme}://{login}{self.address}"

    @override
    def __repr__(self) -> str:
        return f"RouteUrl({str(self)!r})"


def join_host_port(host: str, port: int) -> str:
    """Return `host:port`, with brackets around an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def parse_route_url(text: str) -> RouteUrl:
    """Read the URL of a route.

    Raises:
        ValueError: It is not `scheme://[user[:password]@]host:port`; says what is wrong with it.
    """
    parts = urlsplit(text if "://" in text else f"nats-route://{text}")
    if parts.scheme not in _SCHEMES:
        raise ValueError(f"scheme {parts.scheme!r} is none of {', '.join(_SCHEMES)}")
    if parts.path not in {"", "/"} or parts.query or parts.fragment:
        raise ValueError("nothing may follow the port")
    host, port = parts.hostname, parts.port
    if not host or len(host) > NAME_LENGTH_MAX or not host.isprintable() or " " in host:
        raise ValueError("host is missing or malformed")
    if not port:
        raise ValueError("port is missing")
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    return RouteUrl(host, port, user, password, parts.scheme)
