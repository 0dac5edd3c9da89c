"""`/leafz`, and the status of leaf nodes for `framework run`.

Source: nats-server `monitor.go`, `Leafz`.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Struct

from framework.peering import join_host_port
from framework.spec import InQuery, LinkKind, SubscriptionRows
from framework.spec.formats import rtt_text, time_text
from framework_leafnode.status import describe_status

if TYPE_CHECKING:
    from framework.peering import LinkRates
    from framework.spec import LinkRow, NoOptions, ServerContext
    from framework_leafnode.leafs import Leafs
    from framework_leafnode.peer import Connection

LEAF_MANAGER: Final = "leaf_manager"
"""Name of the ComponentSpec of the actor that is asked here."""


class LeafzOptions(Struct, frozen=True, kw_only=True):
    """Options of `/leafz`."""

    subscriptions: Annotated[bool, InQuery("subs")] = False
    account: Annotated[str, InQuery("acc")] = ""


async def answer_leafz(server: ServerContext, options: LeafzOptions) -> object:
    """Return the document."""
    leafs = await leafs_of(server)
    rows = {row.link: row for row in await server.links(LinkKind.LEAF)}
    shown = [
        (connection, rows[connection.link])
        for connection in (leafs.registered() if leafs else ())
        if connection.link in rows
        and connection.peer is not None
        and options.account in {"", connection.peer.account}
    ]
    return {
        "server_id": server.server_id,
        "now": time_text(time.time_ns()),
        "leafnodes": len(shown),
        "leafs": [
            _leaf(connection, row, _listed(server, row) if options.subscriptions else {})
            for connection, row in shown
        ],
    }


async def answer_status(server: ServerContext, rates: LinkRates, _options: NoOptions) -> object:
    """Return what the supervisor of a server is told of its leaf nodes; None: it has none.

    Args:
        server: Whose leaf nodes these are.
        rates: From the last time that this was asked.
    """
    leafs = await leafs_of(server)
    if leafs is None:
        return None
    rows = await server.links(LinkKind.LEAF)
    address = server.listening_address(LinkKind.LEAF)
    measured = rates.measure(rows, time.monotonic_ns())
    return {
        "address": join_host_port(*address) if address else "",
        **describe_status(leafs, {row.link: row for row in rows}, measured),
    }


async def leafs_of(server: ServerContext) -> Leafs | None:
    """Return leaf nodes and hubs; None: the server has none."""
    try:
        manager = server.component(LEAF_MANAGER)
    except KeyError:
        return None
    from framework_leafnode.leaf_manager import (  # noqa: PLC0415 - it is there, so loaded
        LeafManager,
        LeafsView,
    )

    view: LeafsView = await manager.ask(LeafManager.Describe(), block=False)
    return view.leafs


def _listed(server: ServerContext, row: LinkRow) -> dict[str, object]:
    if not row.subscriptions:
        return {}
    slices = server.list_subscriptions(link=row.link)
    return {"subscriptions_list": SubscriptionRows.subjects(slices)}


def _leaf(connection: Connection, row: LinkRow, listed: dict[str, object]) -> dict[str, object]:
    peer = connection.peer
    assert peer is not None
    return {
        "id": row.cid,
        "name": peer.name,
        "is_spoke": connection.is_spoke,
        **({"is_isolated": True} if connection.is_isolated else {}),
        "account": peer.account,
        "ip": row.host,
        "port": row.port,
        "rtt": rtt_text(row.rtt_ns),
        "in_msgs": row.in_msgs,
        "out_msgs": row.out_msgs,
        "in_bytes": row.in_bytes,
        "out_bytes": row.out_bytes,
        "subscriptions": row.subscriptions,
        **listed,
        "compression": peer.compression,
    }
