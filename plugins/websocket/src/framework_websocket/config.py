"""Settings of the block `websocket`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from framework.spec import TransportLogin, tls_settings
from framework.topology import ConfigSection
from framework_websocket.limits import HANDSHAKE_TIMEOUT_S
from framework_websocket.options import OPTIONS, settle

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from framework.spec import TlsSettings
    from framework_websocket.origins import Origin


class Cookies(Struct, frozen=True):
    """Names of the cookies that credentials are in; empty: of none."""

    user: str = ""
    password: str = ""
    token: str = ""
    jwt: str = ""


class WebSocketConfig(Struct, frozen=True):
    """The block `websocket` of a server that has the port."""

    host: str
    port: int
    """0: any free one."""
    advertise: str = ""
    tls: TlsSettings | None = None
    same_origin: bool = False
    allowed_origins: tuple[Origin, ...] = ()
    compresses: bool = False
    handshake_timeout_s: float = HANDSHAKE_TIMEOUT_S
    cookies: Cookies = Cookies()
    no_auth_user: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    login: TransportLogin | None = None
    auth_timeout_s: float | None = None
    """None: as for other clients; so `ping_interval_s`."""
    ping_interval_s: float | None = None


def websocket_section() -> ConfigSection:
    """Return the block, which `section_as(WebSocketConfig)` returns; None without a port."""
    return ConfigSection(
        name="websocket",
        aliases=("ws",),
        plugin="websocket",
        help="Clients that come by WebSocket, as from browsers",
        options=OPTIONS,
        settle=settle,
        settle_all=_settle_all,
        record=WebSocketConfig,
        make=_config_from_values,
    )


def _settle_all(values: dict[str, Any]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    block = values["websocket"]
    if block and block["port"] is not None:
        from framework_websocket.others import check_beside_others  # noqa: PLC0415 - for who has one

        yield from check_beside_others(block, values)


def _config_from_values(value: Mapping[str, Any]) -> WebSocketConfig | None:
    if value["port"] is None:
        return None
    from framework_websocket.origins import parse_origin  # noqa: PLC0415 - for who has the port

    return WebSocketConfig(
        host=value["host"],
        port=value["port"],
        advertise=value["advertise"],
        tls=tls_settings(value["tls"], path="websocket.tls"),
        same_origin=value["same_origin"],
        allowed_origins=tuple(parse_origin(origin) for origin in value["allowed_origins"]),
        compresses=value["compression"],
        handshake_timeout_s=value["handshake_timeout"] or HANDSHAKE_TIMEOUT_S,
        cookies=Cookies(
            value["user_cookie"], value["pass_cookie"], value["token_cookie"], value["jwt_cookie"]
        ),
        no_auth_user=value["no_auth_user"],
        headers=tuple(value["headers"].items()),
        login=_login(value["authorization"] or {}),
        auth_timeout_s=(value["authorization"] or {}).get("timeout"),
        ping_interval_s=value["ping_interval"],
    )


def _login(block: Mapping[str, Any]) -> TransportLogin | None:
    if not block.get("user") and not block.get("token"):
        return None
    return TransportLogin(
        user=block["user"] or "", password=block["password"] or "", token=block["token"] or ""
    )
