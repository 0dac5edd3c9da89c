"""From monitoring documents to families of metrics; without I/O."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

COUNTERS = frozenset({
    "total_connections",
    *(f"{way}_{unit}" for way in ("in", "out") for unit in ("msgs", "bytes")),
    "slow_consumers",
    "stale_connections",
})
"""Fields of `/varz` that only grow; all others may shrink."""


def varz_families(varz: Mapping[str, Any]) -> Iterator[Metric]:
    """Yield a metric of each number of `/varz`, those of its blocks among them."""
    server = varz["server_name"]
    for name, value in _numbers(varz):
        kind = CounterMetricFamily if name in COUNTERS else GaugeMetricFamily
        family = kind(f"nats_varz_{name}", f"{name} of /varz", labels=["server"])
        family.add_metric([server], value)
        yield family


def account_families(server: str, accstatz: Mapping[str, Any]) -> Iterator[Metric]:
    """Yield what the clients of each account send and get."""
    rows = accstatz["account_statz"]
    connections = GaugeMetricFamily(
        "nats_account_connections", "clients of an account", labels=["server", "account"]
    )
    for row in rows:
        connections.add_metric([server, row["acc"]], row["conns"])
    yield connections
    for way in ("sent", "received"):
        for unit in ("msgs", "bytes"):
            name = f"nats_account_{way}_{unit}"
            labels = ["server", "account"]
            family = CounterMetricFamily(name, f"{unit} {way} by an account", labels=labels)
            for row in rows:
                family.add_metric([server, row["acc"]], row[way][unit])
            yield family


def route_families(server: str, routez: Mapping[str, Any]) -> Iterator[Metric]:
    """Yield what waits for, and how far away is, the server at the end of each route."""
    labels = ["server", "remote", "rid"]
    pending = GaugeMetricFamily("nats_route_pending_bytes", "bytes that wait", labels=labels)
    for row in routez["routes"]:
        pending.add_metric([server, row["remote_name"], str(row["rid"])], row["pending_size"])
    yield pending


def health_families(server: str, status: str) -> Iterator[Metric]:
    """Yield whether the server is healthy: 1, or 0."""
    family = GaugeMetricFamily("nats_healthy", "1 when /healthz says ok", labels=["server"])
    family.add_metric([server], float(status == "ok"))
    yield family


def plugin_families(server: str, pluginz: Mapping[str, Any]) -> Iterator[Metric]:
    """Yield what each plugin was called for, failed at, and dropped."""
    labels = ["server", "plugin"]
    for what in ("calls", "failures"):
        family = CounterMetricFamily(f"nats_plugin_{what}", f"{what} of it", labels=labels)
        for row in pluginz["plugins"]:
            family.add_metric([server, row["name"]], row[what])
        yield family
    tap_labels = [*labels, "tap"]
    drops = CounterMetricFamily("nats_plugin_tap_dropped", "messages dropped", labels=tap_labels)
    for row in pluginz["plugins"]:
        for tap in row["taps"]:
            drops.add_metric([server, row["name"], tap["name"]], tap["dropped"])
    yield drops


def _numbers(document: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, float]]:
    """Yield the numbers of a document and of the blocks in it, by the path of their names."""
    for name, value in document.items():
        path = f"{prefix}{name}"
        if isinstance(value, Mapping):
            # A key that users choose, such as a path of HTTP, makes no name of a metric.
            if all(key.isidentifier() for key in value):
                yield from _numbers(value, f"{path}_")
        elif isinstance(value, int | float):
            yield path, float(value)
