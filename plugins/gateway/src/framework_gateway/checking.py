"""What plugins have against servers of other clusters; see `framework_gateway.hookspecs`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.peering import collect_checks
from framework_gateway.hookspecs import GatewayPeer

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework.spec import ServerContext
    from framework_gateway.info import GatewayInfo


def collect_gateway_checks(
    server: ServerContext, recheck: Callable[[], None]
) -> Callable[[GatewayInfo], str]:
    """Return what says why a server may have no gateway: see `collect_checks`."""
    refused = collect_checks(server, "framework_gateway_check", recheck=recheck)

    def check(info: GatewayInfo) -> str:
        return refused(GatewayPeer(info.server_id, info.server_name, info.gateway, info.version))

    return check
