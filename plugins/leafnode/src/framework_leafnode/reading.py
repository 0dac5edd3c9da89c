"""Read the block `leafnodes`, on servers that have leaf nodes or hubs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from framework.peering import compression_terms
from framework.spec import GLOBAL_ACCOUNT, tls_settings
from framework.topology import is_tls_on, login_timeout_s
from framework_leafnode.config import LeafConfig
from framework_leafnode.limits import COMPRESSION_MODE, DIAL_TIMEOUT_S, FIRST_INFO_TIMEOUT_S
from framework_leafnode.logins import LeafLogins, LeafUser
from framework_leafnode.settings import LeafSettings, ProxySettings, RemoteSettings
from framework_leafnode.url import parse_hub_url, parse_proxy_url
from framework_leafnode.versions import version_from

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def read_config(value: Mapping[str, Any]) -> LeafConfig:
    """Return what the values of the block come to; it has a port or remotes."""
    return LeafConfig(
        host=value["host"],
        port=value["port"],
        advertise=value["advertise"],
        is_advertised=not value["no_advertise"],
        logins=_logins(value),
        settings=LeafSettings(
            remotes=tuple(_remote(it, value) for it in value["remotes"]),
            reconnect_s=value["reconnect"],
            min_version=version_from(value["min_version"] or "0.0.0"),
            min_version_text=value["min_version"],
            is_isolated=value["isolate_leafnode_interest"],
            compression=compression_terms(value["compression"], COMPRESSION_MODE),
        ),
        tls=tls_settings(value["tls"], path="leafnodes.tls"),
        write_deadline_s=value["write_deadline"],
        closes_slow=value["write_timeout"] == "close",
    )


def _logins(value: Mapping[str, Any]) -> LeafLogins:
    authorization: Mapping[str, Any] = value["authorization"] or {}
    tls: Mapping[str, Any] = value["tls"] if is_tls_on(value["tls"]) else {}
    return LeafLogins(
        users=tuple(_users(authorization)),
        timeout_s=authorization.get("timeout") or login_timeout_s(value["tls"]),
        maps_certificates=tls.get("verify_and_map", False),
    )


def _users(authorization: Mapping[str, Any]) -> Iterator[LeafUser]:
    """Yield the one user, or all of them; an account alone lets nobody in by itself."""
    blocks = authorization.get("users") or ()
    if authorization.get("user") or authorization.get("nkey"):
        blocks = (authorization,)
    for block in blocks:
        yield LeafUser(
            name=block["user"],
            password=block["password"],
            nkey=block.get("nkey", ""),
            account=block["account"] or GLOBAL_ACCOUNT,
        )


def _remote(block: Mapping[str, Any], value: Mapping[str, Any]) -> RemoteSettings:
    texts = (*([block["url"]] if block["url"] else []), *block["urls"])
    credentials = block["credentials"]
    dial_timeout_s = block["dial_timeout"] or value["dial_timeout"] or DIAL_TIMEOUT_S
    return RemoteSettings(
        urls=tuple(parse_hub_url(text) for text in texts),
        account=block["account"] or GLOBAL_ACCOUNT,
        credentials=str(Path(credentials).expanduser()) if credentials else "",
        nkey_seed=block["nkey"],
        is_hub=block["hub"],
        deny_imports=block["deny_imports"],
        deny_exports=block["deny_exports"],
        keeps_order=block["no_randomize"],
        ignores_discovered=block["ignore_discovered_servers"],
        is_isolated=block["isolate_leafnode_interest"],
        requests_isolation=block["request_isolation"],
        is_disabled=block["disabled"],
        compression=compression_terms(block["compression"], COMPRESSION_MODE),
        compresses_frames=block["ws_compression"],
        masks_frames=not block["ws_no_masking"],
        tls=tls_settings(block["tls"], path="leafnodes.remotes.tls"),
        first_info_timeout_s=block["first_info_timeout"] or FIRST_INFO_TIMEOUT_S,
        dial_timeout_s=dial_timeout_s,
        proxy=_proxy(block["proxy"] or {}, dial_timeout_s),
    )


def _proxy(block: Mapping[str, Any], dial_timeout_s: float) -> ProxySettings | None:
    if not block.get("url"):
        return None
    url = parse_proxy_url(block["url"])
    return ProxySettings(
        host=url.host,
        port=url.port,
        user=block["username"],
        password=block["password"],
        timeout_s=block["timeout"] or dial_timeout_s,
    )
