"""Read the block `gateway`, on servers that have gateways."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from framework.peering import Login
from framework.spec import tls_settings
from framework.topology import is_tls_on, login_timeout_s
from framework_gateway.config import GatewayConfig
from framework_gateway.settings import MeshSettings, RemoteSettings
from framework_gateway.url import parse_gateway_url

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from framework.peering import PeerUrl
    from framework.spec import TlsSettings


def read_config(value: Mapping[str, Any]) -> GatewayConfig:
    """Return what the values of the block come to; it has a name and a port."""
    authorization: Mapping[str, Any] = value["authorization"] or {}
    tls: Mapping[str, Any] = value["tls"] if is_tls_on(value["tls"]) else {}
    remotes = _remotes(value["gateways"], own=value["name"])
    checks_hosts = tls.get("verify_cert_and_check_known_urls", False)
    hosts = tuple(url.host for remote in remotes for url in remote.urls)
    login = Login(
        user=authorization.get("user", ""),
        password=authorization.get("password", ""),
        timeout_s=authorization.get("timeout") or login_timeout_s(value["tls"]),
        maps_certificates=tls.get("verify_and_map", False),
        known_hosts=hosts if checks_hosts else None,
    )
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
        tls=_gateway_tls(value["tls"]),
        write_deadline_s=value["write_deadline"],
        closes_slow=value["write_timeout"] == "close",
    )


def _remotes(blocks: Sequence[Mapping[str, Any]], *, own: str) -> tuple[RemoteSettings, ...]:
    """Return the clusters to connect to; the URLs of one that stands there twice are put together.

    Source: nats-server `gateway.go`, `newGateway`: its own cluster is passed over.
    """
    urls: dict[str, dict[str, PeerUrl]] = {}
    for block in blocks:
        if block["name"] == own:
            continue
        texts = (*([block["url"]] if block["url"] else []), *block["urls"])
        parsed = (parse_gateway_url(text) for text in texts)
        urls.setdefault(block["name"], {}).update({url.address: url for url in parsed})
    return tuple(RemoteSettings(name, tuple(its.values())) for name, its in urls.items())


def _gateway_tls(block: Mapping[str, object] | None) -> TlsSettings | None:
    """Return what the block `tls` of `gateway` comes to: gateways speak nothing before TLS."""
    settings = tls_settings(block, path="gateway.tls", verify=True)
    return settings and replace(settings, handshake_first=True, fallback_s=0.0)
