"""Gateways in documents of the core: `/varz` and STATSZ.

Source: nats-server `monitor.go`, `createVarz`, `updateVarzConfigReloadableFields`; `events.go`,
`sendStatsz`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from framework.spec import LinkKind, MonitorFields
from framework.spec.formats import short_number, tls_end, tls_flags, tls_timeout, traffic_document
from framework_gateway.config import GatewayConfig
from framework_gateway.monitor import gateway_mesh

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from framework.spec import LinkRow, ServerContext

_GATEWAY: Final = LinkKind.GATEWAY
_NS_PER_S: Final = 1_000_000_000


def monitor_fields(server: ServerContext) -> Iterator[MonitorFields]:
    """Yield what servers with gateways add to documents."""
    yield MonitorFields(document="/varz", names=("gateway",), make=partial(_varz_fields, server))
    make = partial(_statsz_fields, server)
    yield MonitorFields(document="STATSZ", names=("gateways",), make=make)


async def _statsz_fields(server: ServerContext) -> Mapping[str, object]:
    mesh = await gateway_mesh(server)
    if mesh is None:
        return {}
    rows = {row.link: row for row in await server.links(_GATEWAY)}
    inbound = [each for each in mesh.inbound() if each.link in rows]
    documents = []
    for name in mesh.remotes:
        outbound = mesh.outbound(name)
        if outbound is not None and outbound.link in rows:
            its = [rows[each.link] for each in inbound if each.gateway == name]
            documents.append(_gateway(name, rows[outbound.link], its))
    return {"gateways": documents} if documents else {}


def _gateway(name: str, outbound: LinkRow, inbound: list[LinkRow]) -> dict[str, object]:
    return {
        "gwid": outbound.cid,
        "name": name,
        "sent": traffic_document(outbound.out_msgs, outbound.out_bytes),
        "received": traffic_document(
            sum(row.in_msgs for row in inbound), sum(row.in_bytes for row in inbound)
        ),
        "inbound_connections": len(inbound),
    }


async def _varz_fields(server: ServerContext) -> Mapping[str, object]:
    config, address = server.config.section_as(GatewayConfig), server.listening_address(_GATEWAY)
    mesh = await gateway_mesh(server)
    if config is None or address is None or mesh is None:
        return {}
    said: Mapping[str, Any] = server.config.section("gateway") or {}
    tls = server.tls_facts(_GATEWAY)
    deadline_s, policy = said["write_deadline"], said["write_timeout"]
    remotes = [
        {"name": remote["name"], "urls": sorted(_urls(remote, mesh.remotes.get(remote["name"])))}
        for remote in said["gateways"]
    ]
    optional = {
        "advertise": config.advertise,
        "connect_retries": config.mesh.connect_retries,
        "gateways": remotes,
        "reject_unknown": config.mesh.rejects_unknown,
        "write_deadline": round(deadline_s * _NS_PER_S) if deadline_s else 0,
        "write_timeout": "" if policy == "default" else policy,
    }
    document = {
        "name": config.name,
        "host": address[0],
        "port": address[1],
        "auth_timeout": short_number(config.login.timeout_s),
        "tls_timeout": tls_timeout(tls),
        **tls_flags(tls),
        **{name: value for name, value in optional.items() if value},
        **tls_end(tls),
    }
    return {"gateway": document}


def _urls(said: Mapping[str, Any], remote: Any) -> set[str]:
    """Return `host:port` of a cluster: what is configured, and what was learned."""
    texts = (*said["urls"], *([said["url"]] if said["url"] else []))
    bare = {text.rpartition("@")[2].rpartition("://")[2].strip("/") for text in texts}
    return bare | (set(remote.urls) if remote is not None else set())
