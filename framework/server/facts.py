"""Configuration as `/varz` shows it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from framework.monitor import ServerFacts
from framework.server.clients.client_info import RUNTIME
from framework.server.tls.terms import tls_facts
from framework.spec import LinkKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework.server.listening import BoundSocket
    from framework.server.settings import ServerSettings
    from framework.server.tls import TlsHandshakes
    from framework.topology import ServerConfig


def facts_of(
    config: ServerConfig,
    settings: ServerSettings,
    *,
    addresses: Mapping[LinkKind | str, tuple[str, int]],
    http: BoundSocket | None,
    tls: TlsHandshakes,
    started_ns: int,
) -> ServerFacts:
    """Return what `/varz` shows of a configuration.

    Args:
        config: As it was read.
        settings: What it comes to.
        addresses: Host as configured and real port of what is bound already.
        http: Where monitoring answers.
        tls: Knows which listeners speak it.
        started_ns: When the server began, in wall time.
    """
    bound = addresses.get(LinkKind.CLIENT, (settings.host, settings.port))
    host, port = settings.client_advertise or bound
    return ServerFacts(
        runtime=RUNTIME,
        host=host,
        port=port,
        http_host=http.host if http else "",
        http_port=http.port if http else 0,
        http_base_path=settings.http_base_path,
        limits=settings.limits,
        started_ns=started_ns,
        config_loaded_ns=time.time_ns(),
        config_digest=config.digest,
        is_https=settings.https is not None,
        tls=tls_facts(tls.terms(LinkKind.CLIENT)),
        tags=settings.tags,
        metadata=settings.metadata,
    )
