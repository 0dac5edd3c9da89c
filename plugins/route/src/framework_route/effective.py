"""Settings of routes in force on this server, with what the server itself configures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from framework.peering import Compression
from framework.spec import LinkKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework.spec import ServerContext
    from framework_route.config import RouteConfig


def pinned_accounts(server: ServerContext, config: RouteConfig) -> tuple[str, ...]:
    """Return the accounts that get connections of their own, which takes a pool.

    Source: nats-server `server.go`, `configureAccounts`: the system account is one of them.
    """
    system = server.accounts.system_account
    accounts = dict.fromkeys((*config.accounts, *([system] if system else [])))
    return tuple(accounts) if config.mesh.pool_size > 0 else ()


def compression_of(server: ServerContext, config: RouteConfig) -> Compression:
    """Return what this server wants of compression."""
    return Compression(config.compression, server.compression_modes)


def permission_table(server: ServerContext, config: RouteConfig) -> int:
    """Return the number of the table that says which subjects cross routes; 0: all do."""
    return server.plane.add_permissions(config.permissions) if config.permissions else 0


def set_times(server: ServerContext, config: RouteConfig) -> None:
    """Set ping interval, `ping_max` and write deadline of routes; without one, those of clients."""
    times = config.times
    values: Mapping[str, Any] = server.config.values
    server.plane.set_link_times(
        LinkKind.ROUTE,
        ping_interval_s=times.ping_interval_s or values["ping_interval"],
        ping_max=times.ping_max or values["ping_max"],
        write_deadline_s=times.write_deadline_s or values["write_deadline"],
        closes_slow=times.closes_slow,
    )
