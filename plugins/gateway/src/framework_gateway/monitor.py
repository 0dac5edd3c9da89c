"""`/gatewayz`, and the status of gateways for `framework run`.

Source: nats-server `monitor.go`, `Gatewayz`.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Final

from framework.peering import join_host_port
from framework.spec import LinkKind, SubscriptionRows
from framework.spec.formats import rtt_text, time_text, uptime_text
from framework_gateway.peer import INTEREST_ONLY, OPTIMISTIC
from framework_gateway.status import describe_status

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from framework.peering import LinkRates
    from framework.spec import GatewayzOptions, LinkRow, NoOptions, ServerContext
    from framework_gateway.mesh import Mesh
    from framework_gateway.peer import Connection

GATEWAY_MANAGER: Final = "gateway_manager"
"""Name of the ComponentSpec of the actor that is asked here."""
_THRESHOLD: Final = 1_000
"""Of nats-server, after so many subjects without interest: `gateway.go`."""


async def answer_gatewayz(server: ServerContext, options: GatewayzOptions) -> object:
    """Return the document; without gateways nats-server shows no name of them."""
    now_ns = time.monotonic_ns()
    head = {"server_id": server.server_id, "now": time_text(_wall_ns(now_ns))}
    mesh = await gateway_mesh(server)
    if mesh is None:
        return {**head, "outbound_gateways": {}, "inbound_gateways": {}}
    rows = {row.link: row for row in await server.links(LinkKind.GATEWAY)}
    shown = _Shown(server, mesh, options, now_ns)
    return {
        **head,
        "name": mesh.local.gateway,
        "host": mesh.local.host,
        "port": mesh.local.port,
        "outbound_gateways": await shown.outbound(rows),
        "inbound_gateways": shown.inbound(rows),
    }


async def answer_status(server: ServerContext, rates: LinkRates, _options: NoOptions) -> object:
    """Return what the supervisor of a server is told of its gateways; None: it has none.

    Args:
        server: Whose gateways these are.
        rates: From the last time that this was asked.
    """
    mesh = await gateway_mesh(server)
    if mesh is None:
        return None
    rows = await server.links(LinkKind.GATEWAY)
    address = server.listening_address(LinkKind.GATEWAY)
    measured = rates.measure(rows, time.monotonic_ns())
    return {
        "address": join_host_port(*address) if address else "",
        **describe_status(mesh, {row.link: row for row in rows}, measured),
    }


async def gateway_mesh(server: ServerContext) -> Mesh | None:
    """Return the mesh of clusters; None: the server has no gateways."""
    try:
        manager = server.component(GATEWAY_MANAGER)
    except KeyError:
        return None
    from framework_gateway.gateway_manager import (  # noqa: PLC0415 - it is there, so loaded
        GatewayManager,
        MeshView,
    )

    view: MeshView = await manager.ask(GatewayManager.Describe(), block=False)
    return view.mesh


class _Shown:
    """What one request is shown."""

    def __init__(
        self, server: ServerContext, mesh: Mesh, options: GatewayzOptions, now_ns: int
    ) -> None:
        self._server, self._mesh, self._options, self._now_ns = server, mesh, options, now_ns
        self._has_accounts = options.accounts or bool(options.account_name)

    async def outbound(self, rows: Mapping[int, LinkRow]) -> object:
        """Return outbound connections by cluster; None: there is none to the one asked for."""
        asked = self._options.name
        documents = {}
        for name in (asked,) if asked else tuple(self._mesh.remotes):
            connection = self._mesh.outbound(name)
            if connection is not None and connection.link in rows:
                row = rows[connection.link]
                documents[name] = {
                    "configured": not self._mesh.remotes[name].is_implicit,
                    "connection": self._connection(connection, row),
                    **(await self._outbound_accounts(connection) if self._has_accounts else {}),
                }
        return documents if documents or not asked else None

    def inbound(self, rows: Mapping[int, LinkRow]) -> dict[str, list[object]]:
        """Return inbound connections by cluster."""
        documents: dict[str, list[object]] = {}
        for each in self._mesh.inbound():
            if each.link in rows and self._options.name in {"", each.gateway}:
                document = {
                    "configured": False,
                    "connection": self._connection(each, rows[each.link]),
                    **(self._inbound_accounts() if self._has_accounts else {}),
                }
                documents.setdefault(each.gateway, []).append(document)
        return documents

    def _connection(self, connection: Connection, row: LinkRow) -> dict[str, object]:
        assert connection.info is not None
        peer = self._server.tls_peer(row.link)
        tls = {"tls_version": peer.version, "tls_cipher_suite": peer.cipher} if peer else {}
        return {
            "cid": row.cid,
            "kind": LinkKind.GATEWAY.names.title,
            "ip": row.host,
            "port": row.port,
            "start": time_text(_wall_ns(row.opened_ns)),
            "last_activity": time_text(_wall_ns(row.last_activity_ns)),
            **({"rtt": rtt_text(row.rtt_ns)} if row.rtt_ns else {}),
            "uptime": uptime_text(self._now_ns - row.opened_ns),
            "idle": uptime_text(self._now_ns - row.last_activity_ns),
            "pending_bytes": row.pending_bytes,
            "in_msgs": row.in_msgs,
            "out_msgs": row.out_msgs,
            "in_bytes": row.in_bytes,
            "out_bytes": row.out_bytes,
            "subscriptions": row.subscriptions,
            "name": connection.info.server_id,
            **tls,
        }

    async def _outbound_accounts(self, connection: Connection) -> dict[str, object]:
        """Return the accounts whose interest was told, with that interest if it is asked for.

        Of who tells what it does not want, also those in which all is sent.
        """
        modes = connection.accounts
        if connection.mode == OPTIMISTIC:
            modes = {**dict.fromkeys(self._server.accounts.names(), OPTIMISTIC), **modes}
        names = self._asked(modes)
        if not names:
            return {}
        rows = await self._server.subscriptions(connection.link) if connection.info else ()
        counts = Counter(row.account for row in rows)
        queues = Counter(row.account for row in rows if row.queue)
        documents = []
        for name in names:
            number = _number(self._server, name)
            documents.append({
                **_account(name, modes[name]),
                **({"num_subs": counts[number]} if counts[number] else {}),
                **({"num_queue_subs": queues[number]} if queues[number] else {}),
                **self._listed(connection, number, counts[number]),
            })
        return {"accounts": documents}

    def _listed(self, connection: Connection, number: int, count: int) -> dict[str, object]:
        options = self._options
        if not count or not (options.subscriptions or options.subscriptions_detail):
            return {}
        slices = self._server.list_subscriptions(link=connection.link, account=number)
        if options.subscriptions:
            return {"subscriptions_list": SubscriptionRows.subjects(slices)}
        return {"subscriptions_list_detail": SubscriptionRows.details(slices)}

    def _inbound_accounts(self) -> dict[str, object]:
        """Return the accounts whose interest is told: all of them."""
        names = self._asked(self._server.accounts.names())
        return {"accounts": [_account(name, INTEREST_ONLY) for name in names]} if names else {}

    def _asked(self, names: Iterable[str]) -> Sequence[str]:
        asked = self._options.account_name
        return [name for name in names if asked in {"", name}]


def _account(name: str, mode: str) -> dict[str, object]:
    return {
        "name": name,
        "interest_mode": mode,
        "interest_only_threshold": _THRESHOLD,
    }


def _number(server: ServerContext, name: str) -> int:
    """Return the number of an account in rows; -1: it is not of this server."""
    try:
        return server.accounts.index(name)
    except KeyError:
        return -1


def _wall_ns(monotonic_ns: int) -> int:
    return time.time_ns() - time.monotonic_ns() + monotonic_ns
