"""Configuration as `/varz` shows it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from framework.monitor import ServerFacts, TlsFacts
from framework.server.clients.client_info import RUNTIME
from framework.spec import LinkKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework.server.listening import BoundSocket
    from framework.server.settings import ServerSettings
    from framework.server.tls import TlsHandshakes
    from framework.server.tls.terms import KindTerms
    from framework.topology import ServerConfig


def facts_of(
    config: ServerConfig,
    settings: ServerSettings,
    *,
    addresses: Mapping[LinkKind, tuple[str, int]],
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
        cluster=config.section("cluster"),
        cluster_address=addresses.get(LinkKind.ROUTE),
        started_ns=started_ns,
        config_loaded_ns=time.time_ns(),
        config_digest=config.digest,
        is_https=settings.https is not None,
        tls={kind: _tls_facts(terms) for kind in LinkKind if (terms := tls.terms(kind))},
        tags=settings.tags,
        metadata=settings.metadata,
    )


def _tls_facts(terms: KindTerms) -> TlsFacts:
    settings = terms.settings
    return TlsFacts(
        required=not settings.is_optional,
        verify=settings.verify,
        timeout_s=settings.timeout_s,
        not_after_s=terms.not_after_s,
    )
