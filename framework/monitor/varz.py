"""`/varz`: identity, options and counters of the server.

Blocks of concerns that this server does not have are there and empty, as in nats-server.
Source: nats-server `monitor.go`, `createVarz` and `updateVarzRuntimeFields`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, cast

from framework.spec import LinkKind
from framework.spec.formats import time_text, uptime_text
from framework.topology import TLS_TIMEOUT_S, login_timeout_s
from framework.wire.version import CLIENT_PROTOCOL, NATS_VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework.dataplane.totals import Totals
    from framework.monitor.source import MonitorSource, ServerFacts
    from framework.spec import NoOptions

_NS_PER_S: Final = 1_000_000_000
_KINDS: Final = {
    "clients": LinkKind.CLIENT,
    "routes": LinkKind.ROUTE,
    "gateways": LinkKind.GATEWAY,
    "leafs": LinkKind.LEAF,
}
"""By the name that counters of each kind have."""


async def answer_varz(source: MonitorSource, _options: NoOptions) -> object:
    """Return the document; nothing changes it."""
    totals = source.totals()
    return {
        **_identity(source),
        **_configuration(source, source.facts),
        **_runtime(source, source.facts),
        **_counters(totals, source.remotes_count()),
        "subscriptions": source.sublist_counters().count,
        **_rest(source, source.facts, totals),
    }


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
        **_tls_flags(facts, LinkKind.CLIENT),
    }
    urls = source.client_info.get("connect_urls")
    return {**document, "connect_urls": urls} if urls else document


def _configuration(source: MonitorSource, facts: ServerFacts) -> dict[str, object]:
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
        "auth_timeout": _short(limits.auth_timeout_s),
        "max_control_line": limits.max_control_line,
        "max_payload": limits.max_payload,
        "max_pending": limits.max_pending,
        "cluster": _cluster(source, facts),
        "gateway": {},
        "leaf": {},
        "mqtt": {},
        "websocket": {},
        "jetstream": {},
        "tls_timeout": _tls_timeout(facts, LinkKind.CLIENT),
        "write_deadline": round(limits.write_deadline_s * _NS_PER_S),
    }


def _cluster(source: MonitorSource, facts: ServerFacts) -> dict[str, object]:
    if facts.cluster_address is None or facts.cluster is None:
        return {}
    host, port = facts.cluster_address
    urls, login = facts.cluster.get("routes"), facts.cluster.get("authorization")
    timeout_s = cast("Mapping[str, float]", login or {}).get("timeout")
    return {
        "name": source.cluster_name,
        "addr": host,
        "cluster_port": port,
        "auth_timeout": _short(timeout_s or login_timeout_s(facts.cluster.get("tls"))),
        **(
            {"urls": [_without_user(str(url)) for url in urls]}
            if urls and isinstance(urls, tuple)
            else {}
        ),
        "tls_timeout": _tls_timeout(facts, LinkKind.ROUTE),
        **_tls_flags(facts, LinkKind.ROUTE),
        **_route_terms(facts.cluster),
        **_tls_end(facts, LinkKind.ROUTE),
    }


def _route_terms(cluster: Mapping[str, object]) -> dict[str, object]:
    """Return what is said of pools and of writing, as far as it is set."""
    deadline_s, policy = cluster.get("write_deadline"), cluster.get("write_timeout")
    document = {"pool_size": cluster.get("pool_size")}
    if isinstance(deadline_s, float | int):
        document["write_deadline"] = round(deadline_s * _NS_PER_S)
    document["write_timeout"] = None if policy == "default" else policy
    return {name: value for name, value in document.items() if value}


def _tls_flags(facts: ServerFacts, kind: LinkKind) -> dict[str, object]:
    tls = facts.tls.get(kind)
    named = {"tls_required": tls.required, "tls_verify": tls.verify} if tls else {}
    return {name: True for name, value in named.items() if value}


def _tls_timeout(facts: ServerFacts, kind: LinkKind) -> float:
    tls = facts.tls.get(kind)
    return _short(tls.timeout_s if tls else TLS_TIMEOUT_S)


def _tls_end(facts: ServerFacts, kind: LinkKind) -> dict[str, object]:
    tls = facts.tls.get(kind)
    return {"tls_cert_not_after": time_text(round(tls.not_after_s) * _NS_PER_S)} if tls else {}


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
        "cpu": _short(round(usage.cpu_percent, 1)),
    }


def _counters(totals: Totals, remotes: int) -> dict[str, object]:
    clients = totals.kinds[LinkKind.CLIENT]
    return {
        "connections": clients.links,
        "total_connections": clients.opened,
        "routes": totals.kinds[LinkKind.ROUTE].links,
        "remotes": remotes,
        "leafnodes": totals.kinds[LinkKind.LEAF].links,
        "in_msgs": totals.in_msgs,
        "in_bytes": totals.in_bytes,
        "in_client_msgs": clients.in_msgs,
        "in_client_bytes": clients.in_bytes,
        "out_msgs": totals.out_msgs,
        "out_bytes": totals.out_bytes,
        "out_client_msgs": clients.out_msgs,
        "out_client_bytes": clients.out_bytes,
        "slow_consumers": totals.slow,
        "stale_connections": totals.stale,
        "stalled_clients": clients.stalled,
    }


def kind_stats(totals: Totals, counter: Literal["slow", "stale"]) -> dict[str, int]:
    """Return a counter for each kind of connection."""
    return {name: getattr(totals.kinds[kind], counter) for name, kind in _KINDS.items()}


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
        **_tls_end(facts, LinkKind.CLIENT),
    }


def _short(number: float) -> float:
    """Return a whole number as one, so that JSON shows `2` where Go does."""
    return int(number) if number == int(number) else number


def _without_user(url: str) -> str:
    """Return `host:port` of a route URL: a password in it is nobody's business."""
    return url.rpartition("@")[2].rpartition("://")[2].strip("/")
