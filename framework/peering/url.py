"""URLs of other servers: `scheme://user:password@host:port`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from urllib.parse import unquote, urlsplit

from msgspec import Struct
from msgspec.structs import replace
from typing_extensions import override

_HOST_CHARS_MAX = 255


class PeerUrl(Struct, frozen=True):
    """Where another server is, and the login to use there."""

    host: str
    port: int
    user: str = ""
    password: str = ""
    scheme: str = "nats"
    path: str = ""
    """Of schemes that have one; begins with a slash."""

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

    def with_login(self, user: str, password: str) -> PeerUrl:
        """Return the same address with other credentials."""
        return replace(self, user=user, password=password)

    @override
    def __str__(self) -> str:
        login = f"{self.user}:xxxxx@" if self.password else f"{self.user}@" if self.user else ""
        return f"{self.scheme}://{login}{self.address}{self.path}"

    @override
    def __repr__(self) -> str:
        return f"PeerUrl({str(self)!r})"  # no log may tell the password


def join_host_port(host: str, port: int) -> str:
    """Return `host:port`, with brackets around an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def split_advertised(text: str, default_port: int) -> tuple[str, int]:
    """Split `host` or `host:port`; an IPv6 address with a port stands in brackets."""
    host, _, port = text.rpartition(":")
    if host and port.isdecimal() and (":" not in host or host.startswith("[")):
        return host.strip("[]"), int(port) or default_port
    return text.strip("[]"), default_port


def parse_peer_url(
    text: str, schemes: Sequence[str], *, with_path: Collection[str] = ()
) -> PeerUrl:
    """Read the URL of a server; a bare `host:port` will do.

    Args:
        text: The URL.
        schemes: Those that there are; the first one is meant where there is none.
        with_path: Those of them that may have a path.

    Raises:
        ValueError: It is not `scheme://[user[:password]@]host:port`; says what is wrong with it.
    """
    parts = urlsplit(text if "://" in text else f"{schemes[0]}://{text}")
    if parts.scheme not in schemes:
        raise ValueError(f"scheme {parts.scheme!r} is none of {', '.join(sorted(schemes))}")
    path = parts.path.rstrip("/")
    if (path and parts.scheme not in with_path) or parts.query or parts.fragment:
        raise ValueError("nothing may follow the port")
    host, port = parts.hostname, parts.port
    if not host or len(host) > _HOST_CHARS_MAX or not host.isprintable() or " " in host:
        raise ValueError("host is missing or malformed")
    if not port:
        raise ValueError("port is missing")
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    return PeerUrl(host, port, user, password, parts.scheme, path)
