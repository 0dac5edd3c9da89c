"""Start the monitoring port: its endpoints, and the page that lists them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from framework.monitor import answer_query
from framework.monitor.answers import Body
from framework.monitor.request_options import options_from_query
from framework.monitor.root_page import root_page
from framework.spec import DownloadRequest
from framework.spec.monitor import JSON
from framework.wire.version import NATS_VERSION

if TYPE_CHECKING:
    import socket
    import ssl
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from structlog.typing import FilteringBoundLogger

    from framework.monitor import Turns
    from framework.monitor.http_server import Asker, HttpServer
    from framework.spec import Download, DownloadSpec, MonitorEndpoint


async def start_monitor(
    endpoints: Sequence[MonitorEndpoint],
    downloads: Sequence[DownloadSpec],
    sock: socket.socket,
    *,
    base_path: str,
    tls: ssl.SSLContext | None,
    turns: Turns,
    log: FilteringBoundLogger,
) -> HttpServer:
    """Answer on a socket that listens already, and return what does so.

    Args:
        endpoints: Of the core and of plugins; those without a path are left out.
        downloads: Folders of plugins.
        sock: Bound.
        base_path: Empty, or `/` and more; stands before every path.
        tls: None: plain HTTP.
        turns: Taken before each answer but those of probes.
        log: The server's logger.
    """
    from framework.monitor.http_server import HttpServer  # noqa: PLC0415 - h11 costs 8 ms

    page = root_page(endpoints, downloads, base_path, f"framework, NATS {NATS_VERSION}")

    async def answer_root(_query: Mapping[str, str]) -> object:
        return page

    routes: dict[str, Callable[[Mapping[str, str]], Awaitable[object]]] = {
        base_path + endpoint.path: _answer_of(endpoint) for endpoint in endpoints if endpoint.path
    }
    routes[base_path or "/"] = answer_root
    server = HttpServer(
        routes,
        turns=turns,
        at_once={base_path + "/healthz"},
        downloads={base_path + it.folder: partial(_begin, it) for it in downloads},
        log=log,
    )
    await server.start([sock], tls=tls)
    return server


async def _begin(spec: DownloadSpec, query: Mapping[str, str], asker: Asker) -> Download:
    request = DownloadRequest(
        name=asker.name,
        options=options_from_query(spec.options, query),
        credentials=asker.credentials,
        host=asker.host,
        port=asker.port,
    )
    return await spec.open(request)


def _answer_of(endpoint: MonitorEndpoint) -> Callable[[Mapping[str, str]], Awaitable[object]]:
    """Return what answers an endpoint, with the content type that it declares."""
    if endpoint.content_type == JSON:
        return partial(answer_query, endpoint)

    async def answer(query: Mapping[str, str]) -> object:
        data = await answer_query(endpoint, query)
        assert isinstance(data, str | bytes), "the registry has looked"
        return Body(data.encode() if isinstance(data, str) else data, endpoint.content_type)

    return answer
