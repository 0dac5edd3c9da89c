"""Parse durations, sizes, addresses and URLs.

Each function raises ValueError with a clause that says what was expected.
"""

from __future__ import annotations

import re
from urllib.parse import SplitResult, quote, unquote, urlsplit

from framework.topology.limits import PORT_MAX

__all__ = [
    "duration_text_from_seconds",
    "join_address",
    "listen_from_text",
    "seconds_from_text",
    "size_from_text",
    "size_text_from_bytes",
    "split_listen_url",
    "split_url",
    "url_with_login",
    "without_password",
]

_DURATION_PART = r"(?a)(\d+\.?\d*|\.\d+)(ns|us|\N{MICRO SIGN}s|μs|ms|s|m|h)"
_SECONDS = {
    "ns": 1e-9,
    "us": 1e-6,
    "\N{MICRO SIGN}s": 1e-6,
    "μs": 1e-6,
    "ms": 1e-3,
    "s": 1,
    "m": 60,
    "h": 3600,
}
_DURATION_EXPECTED = "expected a duration such as 10s, 250ms or 1m30s"

_SIZE = r"(?ai)(-?\d{1,19})([kmgtpe]?)(i?b?|)"
_SIZE_EXPECTED = "expected a size such as 65536, 64KB or 8MB"

_PORT_DIGITS_MAX = 6


def seconds_from_text(text: str) -> float:
    """Parse a duration as Go writes it: numbers with units, one after another."""
    digits = text.removeprefix("-").removeprefix("+")
    if digits == "0":
        return 0.0
    parts = re.findall(_DURATION_PART, digits)
    if not parts or "".join(number + unit for number, unit in parts) != digits:
        raise ValueError(_DURATION_EXPECTED)
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    return -seconds if text.startswith("-") else seconds


def duration_text_from_seconds(seconds: float) -> str:
    """Write a duration as Go does: `2m0s`, `250ms`."""
    if not seconds:
        return "0s"
    if abs(seconds) < 1:
        return f"{seconds * 1000:g}ms"
    hours, rest = divmod(seconds, 3600)
    minutes, rest = divmod(rest, 60)
    return (
        (f"{hours:g}h" if hours else "")
        + (f"{minutes:g}m" if hours or minutes else "")
        + f"{rest:g}s"
    )


def size_from_text(text: str) -> int:
    """Parse a size: `k` is 1,000, `kb` and `kib` 1,024; so for m, g, t, p and e."""
    matched = re.fullmatch(_SIZE, text.strip())
    if not matched:
        raise ValueError(_SIZE_EXPECTED)
    number, magnitude, binary = matched.groups()
    if not magnitude:
        if binary.lower() not in {"", "b"}:
            raise ValueError(_SIZE_EXPECTED)
        return int(number)
    factor: int = (1024 if binary else 1000) ** " kmgtpe".index(magnitude.lower())
    return int(number) * factor


def size_text_from_bytes(size_bytes: int) -> str:
    """Write a size with the largest unit that divides it: `1MB`, `4KB`, `1000`."""
    for unit in ("TB", "GB", "MB", "KB"):
        factor: int = 1024 ** (" KMGT".index(unit[0]))
        if size_bytes and size_bytes % factor == 0:
            return f"{size_bytes // factor}{unit}"
    return str(size_bytes)


def listen_from_text(text: str) -> tuple[str, int]:
    """Split `host:port`, `:port` or `[::1]:port`; a lone number is a port without a host."""
    if text.isascii() and text.removeprefix("-").isdigit():
        host, port = "", text
    else:
        host, colon, port = text.rpartition(":")
        bracketed = host.startswith("[") and host.endswith("]")
        if not colon or (":" in host and not bracketed):
            raise ValueError(f'could not parse address string "{text}": expected host:port')
        host = host[1:-1] if bracketed else host
    digits = port.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _PORT_DIGITS_MAX):
        raise ValueError(f'could not parse port "{port}"')
    if not -1 <= int(port) <= PORT_MAX:
        raise ValueError(f"expected a port from -1 to {PORT_MAX}, found {port}")
    return host, int(port)


def join_address(host: str, port: int) -> str:
    """Write an address so that `listen_from_text` reads it."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def split_url(text: str) -> SplitResult:
    """Parse a URL of a server, such as `nats://user:password@host:4222`; the host may be empty."""
    try:
        parts = urlsplit(text.strip())
        is_url = bool(parts.scheme and parts.netloc) and (parts.port or 0) >= 0
    except ValueError:
        parts, is_url = urlsplit(""), False
    if not is_url or any(char.isspace() for char in text.strip()):
        raise ValueError(f"expected a URL such as nats://host:6222, found {without_password(text)}")
    return parts


def split_listen_url(text: str) -> tuple[str, int, str | None, str | None]:
    """Split a URL to listen on: host (empty for every address), port (-1 for any), user, password.

    Source: nats-server `opts.go`, `overrideCluster`.
    """
    is_any = text.endswith(":-1")
    parts = split_url(text.removesuffix(":-1") + ":0" if is_any else text)
    if parts.port is None:
        raise ValueError(f"missing port in address {without_password(text)}")
    if parts.username is not None and parts.password is None:
        raise ValueError("expected cluster password to be set")
    user = None if parts.username is None else unquote(parts.username)
    password = None if parts.password is None else unquote(parts.password)
    return parts.hostname or "", -1 if is_any else parts.port, user, password


def url_with_login(scheme: str, address: str, user: str, password: str) -> str:
    """Write a URL; without a user it carries no login."""
    login = f"{quote(user, safe='')}:{quote(password, safe='')}@" if user else ""
    return f"{scheme}://{login}{address}"


_LOGIN = r"(://)[^/@]*@"


def without_password(url: str) -> str:
    """Hide who logs in by a URL."""
    return re.sub(_LOGIN, r"\1***@", url)
