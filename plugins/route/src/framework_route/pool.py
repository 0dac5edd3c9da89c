"""Route pools: their size, and which pool index carries an account.

Source: nats-server `route.go`, `addRoute`, `computeRoutePoolIdx`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

if TYPE_CHECKING:
    from framework.wire.info import RouteInfo

_FNV_OFFSET: Final = 2_166_136_261
_FNV_PRIME: Final = 16_777_619


class PoolTerms(Struct, frozen=True):
    """Pool size that two servers agree on."""

    size: int = 0
    """Connections of the pool; 0: there is no pool, one connection carries all accounts."""
    assigned_size: int = 0
    """By which accounts are assigned to connections; at most `size`."""


def agree_on_pool(own_size: int, info: RouteInfo) -> PoolTerms:
    """Return the terms with the server of `info`; the larger pool counts.

    nats-server assigns accounts by its own size, even where the pool is larger. Our interest must
    travel where its messages do, so it is assigned by the size of such a peer.

    Args:
        own_size: Ours; 0 or less: no pool.
        info: The peer's introduction.
    """
    if own_size <= 0 or info.route_pool_size <= 0:
        return PoolTerms()
    size = max(own_size, info.route_pool_size)
    return PoolTerms(size, size if info.pool_shared else info.route_pool_size)


def pool_index_of(account: str, pool_size: int) -> int:
    """Return which connection of a pool carries an account: FNV-1a of its name; 0-based."""
    value = _FNV_OFFSET
    for byte in account.encode("utf-8", "surrogateescape"):
        value = (value ^ byte) * _FNV_PRIME & 0xFFFF_FFFF
    return value % pool_size
