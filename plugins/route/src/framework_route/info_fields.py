"""What plugins have to say of the INFO of routes; see `framework_route.hookspecs`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from framework.errors import PluginError
from framework.peering import collect_checks
from framework.wire.info import RouteInfo
from framework_route.hookspecs import RoutePeer

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework.spec import ServerContext
    from framework_route.effect import FieldsTold, Overheard

_FIELDS = "framework_route_info_fields"
_CHECK = "framework_route_check"
_RECEIVED = "framework_route_info_received"
_OVERHEARD = "framework_route_gossip_received"
_OWN = {field.name.rstrip("_") for field in msgspec.structs.fields(RouteInfo)}


def collect_fields(
    server: ServerContext,
    change: Callable[[Mapping[str, object | None]], None],
    gossip: Callable[[Mapping[str, object]], None],
) -> Mapping[str, object]:
    """Return the fields of all plugins.

    Args:
        server: Whose plugins are asked.
        change: What they may change them with.
        gossip: What they may tell of other clusters with.

    Raises:
        PluginError: One failed, or wants a field that is another's.
    """
    owners: dict[str, str] = {}
    merged: dict[str, object] = {}
    answers = server.hooks.describe(_FIELDS, server=server, change=change, gossip=gossip)
    for plugin, fields in answers:
        if not isinstance(fields, Mapping):
            raise PluginError(plugin, f"{_FIELDS} must return a mapping, not {fields!r:.80}")
        for name, value in fields.items():
            owner = "the protocol of routes" if name in _OWN else owners.setdefault(name, plugin)
            if owner != plugin:
                raise PluginError(plugin, f"field {name} of INFO belongs to {owner} already")
            merged[name] = value
    return merged


def collect_route_checks(server: ServerContext) -> Callable[[RouteInfo], str]:
    """Return what says why a server may have no route: see `collect_checks`."""
    refused = collect_checks(server, _CHECK)
    return lambda info: refused(_peer(info), info.others)


def changed_fields(
    fields: Mapping[str, object], changes: Mapping[str, object | None]
) -> Mapping[str, object]:
    """Return fields with changes merged into them; None removes one."""
    merged = {**fields, **changes}
    return {name: it for name, it in merged.items() if it is not None and name not in _OWN}


def report_fields(server: ServerContext, told: FieldsTold) -> None:
    """Tell the plugins what another server has told."""
    info = told.info
    peer, fields = _peer(info), info.others
    server.hooks.notify(server.log, _RECEIVED, server=server, peer=peer, fields=fields)


def report_gossip(server: ServerContext, overheard: Overheard) -> None:
    """Tell the plugins what another server tells of another cluster."""
    peer = _peer(overheard.peer)
    fields = {**overheard.info.others, "gateway": overheard.info.gateway}
    server.hooks.notify(server.log, _OVERHEARD, server=server, peer=peer, fields=fields)


def _peer(info: RouteInfo) -> RoutePeer:
    return RoutePeer(
        server_id=info.server_id,
        name=info.server_name,
        version=info.version,
        jetstream=info.jetstream,
        domain=info.domain,
        is_ours=info.pool_shared,
        is_lame_duck=info.ldm,
    )
