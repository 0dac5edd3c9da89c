"""`/routez`, and the status of the mesh for `framework run`.

Source: nats-server `monitor.go`, `Routez`.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Struct
from msgspec.structs import asdict

from framework.peering import join_host_port
from framework.spec import InQuery, LinkKind, SubscriptionRows
from framework.spec.formats import rtt_text, time_text, uptime_text
from framework.spec.query import read_bool_or_details, read_details

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework.spec import LinkRow, NoOptions, ServerContext
    from framework.wire.info import RouteInfo
    from framework_route.peer import Connection
    from framework_route.status import MeshStatus

ROUTE_MANAGER: Final = "route_manager"
"""Name of the ComponentSpec of the actor that is asked here."""


class RoutezOptions(Struct, frozen=True):
    """Options of `/routez`."""

    subscriptions: Annotated[bool, InQuery("subs", read_bool_or_details)] = False
    subscriptions_detail: Annotated[bool, InQuery("subs", read_details)] = False


async def answer_routez(server: ServerContext, options: RoutezOptions) -> object:
    """Return the document, with subscriptions if they are asked for."""
    has_details = options.subscriptions_detail
    has_subscriptions = has_details or options.subscriptions
    status = await mesh_status(server)
    routes = status.routes if status else {}
    rows = [row for row in await server.links(LinkKind.ROUTE) if row.link in routes]
    now_ns = time.monotonic_ns()
    return {
        "server_id": server.server_id,
        "server_name": server.name,
        "now": time_text(_wall_ns(now_ns)),
        **(_permissions_document(status.local) if status else {}),
        "num_routes": len(rows),
        "routes": [
            _route_document(
                row,
                routes[row.link],
                now_ns,
                _subscriptions_document(server, row, has_details=has_details)
                if has_subscriptions
                else {},
            )
            for row in rows
        ],
    }


async def answer_status(server: ServerContext, _options: NoOptions) -> object:
    """Return what the supervisor of a server is told of its routes; None: there can't be any."""
    rows = await server.links(LinkKind.ROUTE)
    status = await mesh_status(server)
    if status is None:
        return None
    from framework_route.status import describe_status  # noqa: PLC0415 -- in a cluster only

    address = server.listening_address(LinkKind.ROUTE)
    return {
        "address": join_host_port(*address) if address else "",
        "routes": len(rows),
        **describe_status(status, {row.link: row.rtt_ns for row in rows}),
    }


async def mesh_status(server: ServerContext) -> MeshStatus | None:
    """Return the state of the mesh; None: the server is in no cluster."""
    try:
        manager = server.component(ROUTE_MANAGER)
    except KeyError:
        return None
    from framework_route.route_manager import RouteManager  # noqa: PLC0415 - it is there, so loaded

    status: MeshStatus = await manager.ask(RouteManager.Describe(), block=False)
    return status


def _route_document(
    row: LinkRow, route: Connection, now_ns: int, listed: Mapping[str, object]
) -> dict[str, object]:
    assert route.info is not None
    return {
        "rid": row.cid,
        "remote_id": route.remote_id,
        "remote_name": route.info.server_name,
        "did_solicit": route.is_solicited,
        "is_configured": route.is_explicit,
        "ip": row.host,
        "port": row.port,
        "start": time_text(_wall_ns(row.opened_ns)),
        "last_activity": time_text(_wall_ns(row.last_activity_ns)),
        "rtt": rtt_text(row.rtt_ns),
        "uptime": uptime_text(now_ns - row.opened_ns),
        "idle": uptime_text(now_ns - row.last_activity_ns),
        **_permissions_document(route.info),
        "pending_size": row.pending_bytes,
        "in_msgs": row.in_msgs,
        "out_msgs": row.out_msgs,
        "in_bytes": row.in_bytes,
        "out_bytes": row.out_bytes,
        "subscriptions": row.subscriptions,
        **listed,
        **({"account": route.slot.account} if route.slot and route.slot.account else {}),
        "compression": route.compression,
    }


def _permissions_document(info: RouteInfo) -> dict[str, object]:
    """Return what a server lets cross, as far as it says so."""
    told = {"import": info.import_, "export": info.export}
    return {
        name: {key: list(subjects) for key, subjects in asdict(rules).items() if subjects}
        for name, rules in told.items()
        if rules is not None
    }


def _subscriptions_document(
    server: ServerContext, row: LinkRow, *, has_details: bool
) -> dict[str, object]:
    if not row.subscriptions:
        return {}
    slices = server.list_subscriptions(link=row.link)
    if has_details:
        return {"subscriptions_list_detail": SubscriptionRows.details(slices)}
    return {"subscriptions_list": SubscriptionRows.subjects(slices)}


def _wall_ns(monotonic_ns: int) -> int:
    return time.time_ns() - time.monotonic_ns() + monotonic_ns
