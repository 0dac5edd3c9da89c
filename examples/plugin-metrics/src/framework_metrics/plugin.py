"""The hook: one path of the monitoring port."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from framework.hookspecs import hookimpl
from framework.spec import MonitorEndpoint, NoOptions, ServerContext
from framework_metrics.families import (
    account_families,
    health_families,
    plugin_families,
    route_families,
    varz_families,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client.core import Metric


@hookimpl
def framework_monitor_endpoints(server: ServerContext) -> Iterator[MonitorEndpoint]:
    """Answer `/metrics` in Prometheus' own format."""

    async def answer(_options: NoOptions) -> bytes:
        return generate_latest(_registry([family async for family in _families(server)]))

    yield MonitorEndpoint(
        path="/metrics", answer=answer, help="Prometheus", content_type=CONTENT_TYPE_LATEST
    )


async def _families(server: ServerContext) -> Any:
    """Yield the metrics of what the monitoring port answers at this moment."""
    name = server.name
    health = await _document(server, "/healthz")
    parts = [
        varz_families(await _document(server, "/varz")),
        account_families(name, await _document(server, "/accstatz", unused="1")),
        health_families(name, health["status"]),
        plugin_families(name, await _document(server, "/pluginz")),
    ]
    with contextlib.suppress(KeyError):  # the plugin for routes may be absent
        parts.append(route_families(name, await _document(server, "/routez")))
    for part in parts:
        for family in part:
            yield family


async def _document(server: ServerContext, path: str, **query: str) -> Any:
    return await server.monitor_document(path, query)


class _Collected:
    """Families as `prometheus_client` collects them."""

    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> list[Metric]:
        return self._families


def _registry(families: list[Metric]) -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(_Collected(families))
    return registry
