"""STATSZ: server statistics, broadcast every few seconds and sent on request.

Source: nats-server `events.go`, `sendStatsz`, `routeStat`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.monitor.varz import kind_stats
from framework.spec import LinkKind
from framework.spec.formats import time_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from framework.dataplane.totals import Totals
    from framework.monitor import MonitorSource
    from framework.server.system.server_stamp import ServerStamp
    from framework.spec import LinkId, LinkRow


class Statsz:
    """Build STATSZ.

    Args:
        stamp: Names this server.
        source: The server as its monitoring sees it.
        peers: Names of the servers at the other ends of routes.
        active_servers: Counts servers, this one included.
        active_accounts: Counts accounts that have clients here.
    """

    def __init__(
        self,
        stamp: ServerStamp,
        source: MonitorSource,
        *,
        peers: Mapping[LinkId, str],
        active_servers: Callable[[], int],
        active_accounts: Callable[[], int],
    ) -> None:
        self._stamp = stamp
        self._source = source
        self._peers = peers
        self._active_servers = active_servers
        self._active_accounts = active_accounts

    async def make(self) -> dict[str, object]:
        """Return it as it is now."""
        rows = await self._source.links(LinkKind.ROUTE)
        routes = [_route(row, self._peers.get(row.link, "")) for row in rows]
        usage, totals = self._source.usage(), self._source.totals()
        clients = totals.kinds[LinkKind.CLIENT]
        cpu = round(usage.cpu_percent, 1)
        statsz: dict[str, object] = {
            "start": time_text(self._source.facts.started_ns),
            "mem": usage.memory_bytes,
            "cores": usage.cores,
            "cpu": int(cpu) if cpu == int(cpu) else cpu,
            "connections": clients.links,
            "total_connections": clients.opened,
            "active_accounts": self._active_accounts(),
            "subscriptions": self._source.sublist_counters().count,
            "sent": _traffic(totals.out_msgs, totals.out_bytes),
            "sent_to_clients": _traffic(clients.out_msgs, clients.out_bytes),
            "received": _traffic(totals.in_msgs, totals.in_bytes),
            "received_from_clients": _traffic(clients.in_msgs, clients.in_bytes),
            **_troubles(totals),
            **({"routes": routes} if routes else {}),
            "active_servers": self._active_servers(),
            "gomaxprocs": usage.cores,
        }
        return {"server": self._stamp.make(), "statsz": statsz}


def _traffic(msgs: int, size_bytes: int) -> dict[str, int]:
    return {"msgs": msgs, "bytes": size_bytes}


def _route(row: LinkRow, name: str) -> dict[str, object]:
    return {
        "rid": row.cid,
        **({"name": name} if name else {}),
        "sent": _traffic(row.out_msgs, row.out_bytes),
        "received": _traffic(row.in_msgs, row.in_bytes),
        "pending": row.pending_bytes,
    }


def _troubles(totals: Totals) -> dict[str, object]:
    """Return what went wrong; but for slow consumers, only what did."""
    document: dict[str, object] = {"slow_consumers": totals.slow}
    if document["slow_consumers"]:
        document["slow_consumer_stats"] = kind_stats(totals, "slow")
    if totals.stale:
        document["stale_connections"] = totals.stale
        document["stale_connection_stats"] = kind_stats(totals, "stale")
    if stalled := totals.kinds[LinkKind.CLIENT].stalled:
        document["stalled_clients"] = stalled
    return document
