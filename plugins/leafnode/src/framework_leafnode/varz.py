"""Leaf nodes in documents of the core: `/varz`.

Source: nats-server `monitor.go`, `createVarz`, `varzLeafNodeRemotes`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from framework.spec import LinkKind, MonitorFields
from framework.spec.formats import short_number, tls_end, tls_flags, tls_timeout
from framework_leafnode.config import LeafConfig
from framework_leafnode.monitor import leafs_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from framework.spec import ServerContext
    from framework_leafnode.settings import RemoteSettings

_NS_PER_S: Final = 1_000_000_000


def monitor_fields(server: ServerContext) -> Iterator[MonitorFields]:
    """Yield what servers with leaf nodes add to documents."""
    make = partial(_varz_fields, server)
    yield MonitorFields(document="/varz", names=("leaf", "leafnodes"), make=make)


async def _varz_fields(server: ServerContext) -> Mapping[str, object]:
    config, leafs = server.config.section_as(LeafConfig), await leafs_of(server)
    if config is None or leafs is None:
        return {}
    said: Mapping[str, Any] = server.config.section("leafnodes") or {}
    deadline_s, policy = said["write_deadline"], said["write_timeout"]
    remotes = [_remote(it) for it in config.settings.remotes]
    document = {
        **_listener(server, config),
        **({"remotes": remotes} if remotes else {}),
        **({"write_deadline": round(deadline_s * _NS_PER_S)} if deadline_s else {}),
        **({} if policy == "default" else {"write_timeout": policy}),
    }
    return {"leaf": document, "leafnodes": sum(1 for _ in leafs.registered())}


def _listener(server: ServerContext, config: LeafConfig) -> dict[str, object]:
    address = server.listening_address(LinkKind.LEAF)
    if address is None:
        return {}
    tls = server.tls_facts(LinkKind.LEAF)
    return {
        "host": address[0],
        "port": address[1],
        "auth_timeout": short_number(config.logins.timeout_s),
        "tls_timeout": tls_timeout(tls),
        **tls_flags(tls),
        **tls_end(tls),
    }


def _remote(settings: RemoteSettings) -> dict[str, object]:
    deny = {
        name: list(subjects)
        for name, subjects in (
            ("exports", settings.deny_exports),
            ("imports", settings.deny_imports),
        )
        if subjects
    }
    return {
        "local_account": settings.account,
        "urls": [url.address for url in settings.urls],
        **({"deny": deny} if deny else {}),
    }
