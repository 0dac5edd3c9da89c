"""Options of the account resolver: memory, URL, or directory.

Source: nats-server `opts.go`, `processConfigFileLine`, `resolver`.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from framework.topology import Kind, Node, Option

if TYPE_CHECKING:
    from collections.abc import Mapping

FETCH_TIMEOUT_S: Final = 1.9
"""Source: nats-server `const.go`, `DEFAULT_ACCOUNT_FETCH_TIMEOUT`."""

SYNC_INTERVAL_S: Final = 60.0
"""Source: nats-server `accounts.go`, `NewDirAccResolver`."""

CACHE_LIMIT: Final = 1_000
"""Source: nats-server `accounts.go`, `NewCacheDirAccResolver`."""

_URL: Final = r"(?i)url\(\s*\"?([^\s\"]*)\"?\s*\)"
_DURATION: Final = r"(\d+(?:\.\d+)?)(ms|s|m|h)"
_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_KEYS: Final = frozenset({
    "type",
    "dir",
    "allow_delete",
    "hard_delete",
    "limit",
    "ttl",
    "interval",
    "timeout",
})
_FORMS: Final = "MEMORY, URL(address), or a block with `type` and `dir`"


class ResolverKind(Enum):
    """Type of an account resolver."""

    NONE = "none"
    MEMORY = "memory"
    """Only those that are preloaded."""
    URL = "url"
    """An HTTP server, asked for each."""
    FULL = "full"
    """A directory with all of them, kept the same on all servers."""
    CACHE = "cache"
    """A directory with those that were used lately."""


class ResolverSettings(Struct, frozen=True, kw_only=True):
    """The option `resolver`."""

    kind: ResolverKind
    url: str = ""
    """Ends in a slash; the public key of an account follows."""
    folder: str = ""
    limit: int = 0
    """Accounts that are kept; 0: any number."""
    allow_delete: bool = False
    hard_delete: bool = False
    """Deleted files are removed; else they are renamed."""
    ttl_s: float = 0.0
    """After which an unused account of a cache is forgotten; 0: when its JWT expires."""
    interval_s: float = SYNC_INTERVAL_S
    """Between two comparisons with other servers."""
    timeout_s: float = FETCH_TIMEOUT_S
    """How long other servers may take to send an account."""


def resolver_settings(node: object) -> ResolverSettings | None:
    """Return what a `resolver` comes to; None when there is none.

    Raises:
        ValueError: It makes no sense.
    """
    if node is None:
        return None
    assert isinstance(node, Node)
    value = node.plain()
    if isinstance(value, str):
        return _from_text(value)
    if isinstance(value, dict):
        return _from_block({str(key).lower(): it for key, it in value.items()})
    raise ValueError(f"expected {_FORMS}")


def _from_text(text: str) -> ResolverSettings:
    match = re.fullmatch(_URL, text.strip())
    if match:
        url = match[1]
        if not url.startswith(("http://", "https://")):
            raise ValueError("expected a URL that begins with http:// or https://")
        return ResolverSettings(kind=ResolverKind.URL, url=url if url.endswith("/") else f"{url}/")
    if text.strip().upper() in {"MEM", "MEMORY"}:
        return ResolverSettings(kind=ResolverKind.MEMORY)
    raise ValueError(f"expected {_FORMS}")


def _from_block(block: Mapping[str, object]) -> ResolverSettings:
    if unknown := sorted(block.keys() - _KEYS):
        raise ValueError(f"unknown key `{unknown[0][:40]}`; there are {', '.join(sorted(_KEYS))}")
    kind = str(block.get("type", "")).upper()
    if kind in {"MEM", "MEMORY"}:
        return ResolverSettings(kind=ResolverKind.MEMORY)
    if kind not in {"FULL", "CACHE"}:
        raise ValueError("`type` is not full, cache or memory")
    is_cache = kind == "CACHE"
    folder = block.get("dir")
    if not isinstance(folder, str) or not folder:
        raise ValueError("`dir` has no value and needs to point to a directory")
    refused = {"interval", "allow_delete", "hard_delete"} if is_cache else {"ttl"}
    for name in sorted(refused & block.keys()):
        if block[name]:
            raise ValueError(f"{kind} does not accept `{name}`")
    hard_delete, allow_delete = _flag(block, "hard_delete"), _flag(block, "allow_delete")
    if hard_delete and not allow_delete:
        raise ValueError("`hard_delete` has no effect without `allow_delete`")
    return ResolverSettings(
        kind=ResolverKind.CACHE if is_cache else ResolverKind.FULL,
        folder=folder,
        limit=_limit(block) or (CACHE_LIMIT if is_cache else 0),
        allow_delete=allow_delete or is_cache,
        hard_delete=hard_delete or is_cache,
        ttl_s=_seconds(block, "ttl", 0.0),
        interval_s=_seconds(block, "interval", SYNC_INTERVAL_S) or SYNC_INTERVAL_S,
        timeout_s=_seconds(block, "timeout", FETCH_TIMEOUT_S) or FETCH_TIMEOUT_S,
    )


def _flag(block: Mapping[str, object], name: str) -> bool:
    value = block.get(name, False)
    if not isinstance(value, bool):
        raise ValueError(f"`{name}` is not true or false")  # noqa: TRY004 - one kind of error
    return value


def _limit(block: Mapping[str, object]) -> int:
    value = block.get("limit", 0)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError("`limit` is not a number of at least 0")
    return value


def _seconds(block: Mapping[str, object], name: str, default: float) -> float:
    """Return a duration: `1m30s`, or a number of seconds."""
    value = block.get(name)
    if value is None:
        return default
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
        return float(value)
    parts = re.findall(_DURATION, str(value))
    if not parts or "".join(number + unit for number, unit in parts) != value:
        raise ValueError(f"`{name}` is not a duration, such as 2m or 30s")
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


RESOLVER: Final = Option(
    name="resolver",
    kind=Kind.FREE,
    aliases=("account_resolver", "accounts_resolver"),
    help="Where accounts come from: MEMORY, URL(address), or a block with `type` and `dir`",
)
RESOLVER_TLS: Final = Option(
    name="resolver_tls",
    kind=Kind.FREE,
    help="TLS of an account resolver",
    refusal="not supported by this version; a URL resolver checks https by the system's list",
)
