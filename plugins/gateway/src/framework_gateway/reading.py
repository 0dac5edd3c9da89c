"""Read the block `gateway`, on servers that have gateways."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from framework.peering import compression_terms, peer_tls, read_login
from framework_gateway.config import GatewayConfig
from framework_gateway.options import COMPRESSION_MODE
from framework_gateway.settings import MeshSettings, RemoteSettings
from framework_gateway.url import parse_gateway_url

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from framework.peering import PeerUrl
    from framework.spec import TlsSettings


def read_config(value: Mapping[str, Any]) -> GatewayConfig:
    """Return what the values of the block come to; it has a name and a port."""
    remotes = _remotes(value["gateways"], own=value["name"])
    login = read_login(value, [url.host for remote in remotes for url in remote.urls])
    return GatewayConfig(
        name=value["name"],
        host=value["host"],
        port=value["port"],
        advertise=value["advertise"],
        login=login,
        mesh=MeshSettings(
            remotes=remotes,
            rejects_unknown=value["reject_unknown"],
            connect_retries=value["connect_retries"],
            has_connect_backoff=value["connect_backoff"],
            user=login.user,
            password="" if login.is_hashed else login.password,
        ),
        compression=compression_terms(value["compression"], COMPRESSION_MODE),
        tls=peer_tls(value["tls"], path="gateway.tls"),
        write_deadline_s=value["write_deadline"],
        closes_slow=value["write_timeout"] == "close",
    )


def _remotes(blocks: Sequence[Mapping[str, Any]], *, own: str) -> tuple[RemoteSettings, ...]:
    """Return the clusters to connect to; the URLs of one that stands there twice are put together.

    Source: nats-server `gateway.go`, `newGateway`: its own cluster is passed over.
    """
    urls: dict[str, dict[str, PeerUrl]] = {}
    tls: dict[str, TlsSettings | None] = {}
    for block in blocks:
        if block["name"] == own:
            continue
        texts = (*([block["url"]] if block["url"] else []), *block["urls"])
        parsed = (parse_gateway_url(text) for text in texts)
        urls.setdefault(block["name"], {}).update({url.address: url for url in parsed})
        tls[block["name"]] = peer_tls(block["tls"], path="gateway.gateways.tls")
    return tuple(RemoteSettings(name, tuple(it.values()), tls[name]) for name, it in urls.items())
