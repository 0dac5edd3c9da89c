"""Read the core's options from a configuration; the one place that knows their names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from framework.dataplane.limits import PlaneLimits
from framework.server.logging.logs import LogSettings
from framework.spec import tls_settings
from framework.topology import login_timeout_s

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework.spec import TlsSettings
    from framework.topology import ServerConfig


class ServerSettings(Struct, frozen=True):
    """The core's options in the form that the server needs."""

    name: str
    """Empty: the server ID."""
    host: str
    port: int
    """0: any free one."""
    client_advertise: tuple[str, int] | None
    """Where clients are told to connect, when that is not where the server listens."""
    http: tuple[str, int] | None
    http_base_path: str
    """Empty, or `/` and more."""
    https: tuple[str, int] | None
    """Where monitoring answers over TLS."""
    tls: TlsSettings | None
    """Of clients; None: they are plain."""
    headers: bool
    closed_clients_max: int
    pending_logins_max: int
    """Clients that may be there without having logged in, where they must."""
    pid_file: str
    ports_file_dir: str
    lame_duck_duration_s: float
    lame_duck_grace_period_s: float
    tags: tuple[str, ...]
    metadata: Mapping[str, str]
    limits: PlaneLimits
    logs: LogSettings


def settings_from_config(config: ServerConfig) -> ServerSettings:
    """Return the settings of a configuration, whose values were checked when it was read."""
    value: dict[str, Any] = dict(config.values)
    port = value["port"] if value["port"] is not None else 4222
    return ServerSettings(
        name=value["server_name"] or "",
        host=value["host"],
        port=port,
        client_advertise=_advertised(value["client_advertise"] or "", port),
        http=_http_address(value, "http"),
        http_base_path=(value["http_base_path"] or "").rstrip("/"),
        https=_http_address(value, "https"),
        tls=tls_settings(value["tls"], allows_plain=value["allow_non_tls"]),
        headers=not value["no_header_support"],
        closed_clients_max=value["max_closed_clients"],
        pending_logins_max=value["max_pending_logins"],
        pid_file=value["pid_file"] or "",
        ports_file_dir=value["ports_file_dir"] or "",
        lame_duck_duration_s=value["lame_duck_duration"],
        lame_duck_grace_period_s=value["lame_duck_grace_period"],
        tags=tuple(value["server_tags"]),
        metadata=value["server_metadata"],
        limits=_limits(value),
        logs=log_settings_from_config(config),
    )


def log_settings_from_config(config: ServerConfig) -> LogSettings:
    """Return the log settings of a configuration."""
    value: dict[str, Any] = dict(config.values)
    return LogSettings(
        debug=value["debug"],
        trace=value["trace"],
        trace_headers=value["trace_headers"],
        trace_verbose=value["trace_verbose"],
        logtime=value["logtime"],
        logtime_utc=value["logtime_utc"],
        log_file=value["logfile"] or "",
        logfile_size_limit=value["logfile_size_limit"],
        logfile_max_num=value["logfile_max_num"],
        json=value.get("log_format") == "json",
    )


def _limits(value: dict[str, Any]) -> PlaneLimits:
    return PlaneLimits(
        max_payload=value["max_payload"],
        max_control_line=value["max_control_line"],
        max_pending=value["max_pending"],
        # The plane's 0 means any number, the option's means none.
        max_connections=value["max_connections"] or -1,
        max_subscriptions=max(0, value["max_subscriptions"]),
        ping_interval_s=value["ping_interval"],
        ping_max=value["ping_max"],
        write_deadline_s=value["write_deadline"],
        auth_timeout_s=login_timeout_s(value["tls"]),
        max_subscription_tokens=value["max_sub_tokens"],
        max_traced_bytes=value["max_traced_msg_len"] or PlaneLimits().max_traced_bytes,
        fast_producer_stall=not value["no_fast_producer_stall"],
    )


def _http_address(value: dict[str, Any], scheme: str) -> tuple[str, int] | None:
    if value[scheme] is None:
        return None
    host, port = value[scheme]
    return host or value["host"], port


def _advertised(text: str, port: int) -> tuple[str, int] | None:
    """Split `host:port`; without a port, the client port is meant."""
    if not text:
        return None
    host, colon, digits = text.rpartition(":")
    if not colon:
        return text, port
    return host.strip("[]"), int(digits)
