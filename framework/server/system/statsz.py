"""STATSZ: server statistics, broadcast every few seconds and sent on request.

Source: nats-server `events.go`, `sendStatsz`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.spec import LinkKind
from framework.spec.formats import short_number, time_text, traffic_document

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework.dataplane.totals import Totals
    from framework.monitor import MonitorSource
    from framework.server.system.server_stamp import ServerStamp


class Statsz:
    """Build STATSZ.

    Args:
        stamp: Names this server.
        source: The server as its monitoring sees it.
        active_servers: Counts servers, this one included.
        active_accounts: Counts accounts that have clients here.
    """

    def __init__(
        self,
        stamp: ServerStamp,
        source: MonitorSource,
        *,
        active_servers: Callable[[], int],
        active_accounts: Callable[[], int],
    ) -> None:
        self._stamp = stamp
        self._source = source
        self._active_servers = active_servers
        self._active_accounts = active_accounts

    async def make(self) -> dict[str, object]:
        """Return it as it is now."""
        fields = await self._source.plugin_fields("STATSZ")
        usage, totals = self._source.usage(), self._source.totals()
        clients = totals.kinds[LinkKind.CLIENT]
        statsz: dict[str, object] = {
            "start": time_text(self._source.facts.started_ns),
            "mem": usage.memory_bytes,
            "cores": usage.cores,
            "cpu": short_number(round(usage.cpu_percent, 1)),
            "connections": clients.links,
            "total_connections": clients.opened,
            "active_accounts": self._active_accounts(),
            "subscriptions": self._source.sublist_counters().subscriptions,
            "sent": traffic_document(totals.out_msgs, totals.out_bytes),
            "sent_to_clients": traffic_document(clients.out_msgs, clients.out_bytes),
            "received": traffic_document(totals.in_msgs, totals.in_bytes),
            "received_from_clients": traffic_document(clients.in_msgs, clients.in_bytes),
            **_troubles(totals),
        }
        theirs = {name: value for name, value in fields.items() if name not in statsz}
        last = {"active_servers": self._active_servers(), "gomaxprocs": usage.cores}
        return {"server": self._stamp.make(), "statsz": {**statsz, **theirs, **last}}


def _troubles(totals: Totals) -> dict[str, object]:
    """Return what went wrong; but for slow consumers, only what did."""
    from framework.monitor.varz import kind_stats  # noqa: PLC0415 -- STATSZ is rarely asked for

    document: dict[str, object] = {"slow_consumers": totals.slow}
    if document["slow_consumers"]:
        document["slow_consumer_stats"] = kind_stats(totals, "slow")
    if totals.stale:
        document["stale_connections"] = totals.stale
        document["stale_connection_stats"] = kind_stats(totals, "stale")
    if stalled := totals.kinds[LinkKind.CLIENT].stalled:
        document["stalled_clients"] = stalled
    return document
