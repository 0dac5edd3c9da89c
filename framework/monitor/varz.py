"""`/varz`: identity, options and counters of the server.

Blocks of concerns that no plugin brings are there and empty, as in nats-server.
Source: nats-server `monitor.go`, `createVarz` and `updateVarzRuntimeFields`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from framework.spec.formats import (
    short_number,
    time_text,
    tls_end,
    tls_flags,
    tls_timeout,
    uptime_text,
)
from framework.wire.version import CLIENT_PROTOCOL, NATS_VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework.dataplane.totals import Totals
    from framework.monitor.source import MonitorSource, ServerFacts
    from framework.spec import NoOptions

_NS_PER_S: Final = 1_000_000_000
_BLOCKS: Final = ("cluster", "gateway", "leaf", "mqtt", "websocket", "jetstream")
_EMPTY: Final[Mapping[str, object]] = {name: {} for name in _BLOCKS}
_NONE: Final[Mapping[str, object]] = {"routes": 0, "remotes": 0, "leafnodes": 0}
"""What stands there for concerns that no plugin brings."""


async def answer_varz(source: MonitorSource, _options: NoOptions) -> object:
    """Return the document; nothing changes it."""
    totals = source.totals()
    document = {
        **_identity(source),
        **_configuration(source.facts),
        **_runtime(source, source.facts),
        **_counters(source, totals),
        "subscriptions": source.sublist_counters().subscriptions,
        **_rest(source, source.facts, totals),
    }
    fields = await source.plugin_fields("/varz")
    ours = document.keys() - _EMPTY.keys() - _NONE.keys()
    return document | {name: value for name, value in fields.items() if name not in ours}


def _identity(source: MonitorSource) -> dict[str, object]:
    facts = source.facts
    document: dict[str, object] = {
        "server_id": source.server_id,
        "server_name": source.name,
        "version": NATS_VERSION,
        "proto": CLIENT_PROTOCOL,
        "go": facts.runtime,
        "host": facts.host,
        "port": facts.port,
        **({"auth_required": True} if facts.limits.auth_required else {}),
        **tls_flags(facts.tls),
    }
    urls = source.client_info.get("connect_urls")
    return {**document, "connect_urls": urls} if urls else document


def _configuration(facts: ServerFacts) -> dict[str, object]:
    limits = facts.limits
    return {
        "max_connections": limits.max_connections,
        **({"max_subscriptions": limits.max_subscriptions} if limits.max_subscriptions else {}),
        "ping_interval": round(limits.ping_interval_s * _NS_PER_S),
        "ping_max": limits.ping_max,
        "http_host": facts.http_host,
        "http_port": 0 if facts.is_https else facts.http_port,
        "http_base_path": facts.http_base_path,
        "https_port": facts.http_port if facts.is_https else 0,
        "auth_timeout": short_number(limits.auth_timeout_s),
        "max_control_line": limits.max_control_line,
        "max_payload": limits.max_payload,
        "max_pending": limits.max_pending,
        **_EMPTY,
        "tls_timeout": tls_timeout(facts.tls),
        "write_deadline": round(limits.write_deadline_s * _NS_PER_S),
    }


def _runtime(source: MonitorSource, facts: ServerFacts) -> dict[str, object]:
    now_ns = source.wall_ns(source.monotonic_ns())
    usage = source.usage()
    return {
        "start": time_text(facts.started_ns),
        "now": time_text(now_ns),
        "uptime": uptime_text(now_ns - facts.started_ns),
        "mem": usage.memory_bytes,
        "cores": usage.cores,
        "gomaxprocs": usage.cores,
        "cpu": short_number(round(usage.cpu_percent, 1)),
    }


def _counters(source: MonitorSource, totals: Totals) -> dict[str, object]:
    users = [totals.kinds[kind] for kind in source.user_kinds]
    return {
        "connections": sum(it.links for it in users),
        "total_connections": sum(it.opened for it in users),
        **_NONE,
        "in_msgs": totals.in_msgs,
        "in_bytes": totals.in_bytes,
        "in_client_msgs": sum(it.in_msgs for it in users),
        "in_client_bytes": sum(it.in_bytes for it in users),
        "out_msgs": totals.out_msgs,
        "out_bytes": totals.out_bytes,
        "out_client_msgs": sum(it.out_msgs for it in users),
        "out_client_bytes": sum(it.out_bytes for it in users),
        "slow_consumers": totals.slow,
        "stale_connections": totals.stale,
        "stalled_clients": sum(it.stalled for it in users),
    }


def kind_stats(totals: Totals, counter: Literal["slow", "stale"]) -> dict[str, int]:
    """Return a counter for each kind of connection."""
    return {kind.names.counters: getattr(it, counter) for kind, it in totals.kinds.items()}


def _rest(source: MonitorSource, facts: ServerFacts, totals: Totals) -> dict[str, object]:
    system, operators = source.accounts.system_account, source.trusted_operators
    trusted = {
        "trusted_operators_jwt": [it.jwt for it in operators],
        "trusted_operators_claim": [it.claims for it in operators],
    }
    return {
        "http_req_stats": dict(source.request_counts),
        "config_load_time": time_text(facts.config_loaded_ns),
        "config_digest": facts.config_digest,
        **({"tags": list(facts.tags)} if facts.tags else {}),
        **({"metadata": dict(facts.metadata)} if facts.metadata else {}),
        **(trusted if operators else {}),
        **({"system_account": system} if system else {}),
        "slow_consumer_stats": kind_stats(totals, "slow"),
        "stale_connection_stats": kind_stats(totals, "stale"),
        "disk_io_wait_stats": {"waiters": 0, "waits": 0, "wait_time": 0, "max_wait_time": 0},
        **tls_end(facts.tls),
    }
