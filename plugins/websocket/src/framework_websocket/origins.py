"""Origins: which pages may connect.

Source: nats-server `websocket.go`, `checkOrigin`, `wsGetHostAndPort`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Collection

_PORTS = {"http": 80, "https": 443}


class Origin(Struct, frozen=True):
    """Scheme, host and port of a page."""

    scheme: str
    host: str
    """In lower case."""
    port: int


def parse_origin(text: str) -> Origin:
    """Return an origin.

    Raises:
        ValueError: It is no URL with a host, by HTTP or HTTPS.
    """
    url = urlsplit(text)
    if url.scheme not in _PORTS:
        raise ValueError("an origin is an absolute URL with http or https")
    if not url.hostname:
        raise ValueError("an origin has a host")
    return Origin(url.scheme, url.hostname.lower(), url.port or _PORTS[url.scheme])


def origin_problem(
    origin: str, *, host: str, is_tls: bool, same: bool, allowed: Collection[Origin]
) -> str | None:
    """Return why a page may not connect; None: it may.

    Args:
        origin: As the browser says; empty: it is no browser, which may say what it likes.
        host: As the request says whom it wants.
        is_tls: The connection has TLS.
        same: Only pages of that host may.
        allowed: Only pages from there may; empty: from anywhere.
    """
    if not origin or not (same or allowed):
        return None
    try:
        found = parse_origin(origin)
        own = parse_origin(f"{'https' if is_tls else 'http'}://{host}")
    except ValueError as error:
        return str(error)
    if same and found != own:
        return "not same origin"
    if allowed and found not in allowed:
        return "not in the allowed list"
    return None
