"""Routes in documents of the core: `/varz` and STATSZ.

Source: nats-server `monitor.go`, `createVarz`; `events.go`, `routeStat`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from framework.spec import LinkKind, MonitorFields
from framework.spec.formats import short_number, tls_end, tls_flags, tls_timeout, traffic_document
from framework_route.config import RouteConfig
from framework_route.monitor import mesh_status

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from framework.spec import LinkRow, ServerContext

_ROUTE: Final = LinkKind.ROUTE
_NS_PER_S: Final = 1_000_000_000


def monitor_fields(server: ServerContext) -> Iterator[MonitorFields]:
    """Yield what servers in a cluster add to documents."""
    names = ("cluster", "routes", "remotes")
    yield MonitorFields(document="/varz", names=names, make=partial(_varz_fields, server))
    yield MonitorFields(document="STATSZ", names=("routes",), make=partial(_statsz_fields, server))


async def _varz_fields(server: ServerContext) -> Mapping[str, object]:
    status = await mesh_status(server)
    return {
        "cluster": _cluster(server),
        "routes": len(await server.links(_ROUTE)),
        "remotes": sum(1 for it in status.peers if it.connections) if status else 0,
    }


async def _statsz_fields(server: ServerContext) -> Mapping[str, object]:
    status = await mesh_status(server)
    routes = status.routes if status else {}
    names = {link: it.info.server_name for link, it in routes.items() if it.info}
    rows = await server.links(_ROUTE)
    return {"routes": [_route(row, names.get(row.link, "")) for row in rows]} if rows else {}


def _route(row: LinkRow, name: str) -> dict[str, object]:
    return {
        "rid": row.cid,
        **({"name": name} if name else {}),
        "sent": traffic_document(row.out_msgs, row.out_bytes),
        "received": traffic_document(row.in_msgs, row.in_bytes),
        "pending": row.pending_bytes,
    }


def _cluster(server: ServerContext) -> Mapping[str, object]:
    config, address = server.config.section_as(RouteConfig), server.listening_address(_ROUTE)
    if config is None or address is None:
        return {}
    said: Mapping[str, Any] = server.config.section("cluster") or {}
    tls = server.tls_facts(_ROUTE)
    return {
        "name": server.cluster_name,
        "addr": address[0],
        "cluster_port": address[1],
        "auth_timeout": short_number(config.login.timeout_s),
        **({"urls": urls} if (urls := [_without_user(url) for url in said["routes"]]) else {}),
        "tls_timeout": tls_timeout(tls),
        **tls_flags(tls),
        **{name: value for name, value in _terms(said).items() if value},
        **tls_end(tls),
    }


def _terms(said: Mapping[str, Any]) -> Mapping[str, object]:
    """Return what is said of pools and of writing, as far as it is set."""
    deadline_s, policy = said["write_deadline"], said["write_timeout"]
    return {
        "pool_size": said["pool_size"],
        "write_deadline": round(deadline_s * _NS_PER_S) if deadline_s else 0,
        "write_timeout": "" if policy == "default" else policy,
    }


def _without_user(url: str) -> str:
    """Return `host:port` of a route URL: a password in it is nobody's business."""
    return url.rpartition("@")[2].rpartition("://")[2].strip("/")
