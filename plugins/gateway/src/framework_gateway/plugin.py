"""Hook implementations of the gateway plugin."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from framework.actors import Supervision
from framework.hookspecs import hookimpl
from framework.spec import (
    GATEWAY_DIALECT,
    ComponentSpec,
    GroupClass,
    HealthCheck,
    KindTraits,
    LinkKind,
    LinkKindSpec,
    ListenerSpec,
    MonitorEndpoint,
    ReservedPrefix,
    Scope,
)
from framework.topology import TopologyError
from framework_gateway.config import GatewayConfig, gateway_section

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from framework.spec import MonitorFields, ServerContext, StopReason
    from framework.topology import ConfigDiff, ConfigSection, ServerConfig
    from framework_gateway.gateway_manager import GatewayManager

GATEWAY_MANAGER: Final = "gateway_manager"
"""Name of the ComponentSpec; `framework_gateway.monitor` has it as well."""


@hookimpl
def framework_config_sections() -> Iterable[ConfigSection]:
    """Declare the block `gateway`."""
    return [gateway_section(_read)]


def _read(value: Mapping[str, Any]) -> GatewayConfig:
    from framework_gateway.reading import read_config  # noqa: PLC0415 - as in `_manager`

    return read_config(value)


@hookimpl
def framework_link_kinds(config: ServerConfig) -> Iterable[LinkKindSpec]:
    """Declare gateways, if the server has them: what nobody has costs nothing."""
    if config.section_as(GatewayConfig) is None:
        return []
    from framework_gateway.limits import PING_INTERVAL_MAX_S  # noqa: PLC0415 - as in `_manager`

    traits = KindTraits(
        dialect=GATEWAY_DIALECT,
        scope=Scope.GATEWAY,
        group_class=GroupClass.NEAREST_IF_NONE,
        ping_interval_max_s=PING_INTERVAL_MAX_S,
    )
    hidden = ReservedPrefix(prefix=b"_GR_.", hidden_tokens=2)
    return [LinkKindSpec(kind=LinkKind.GATEWAY, traits=traits, reserved=(hidden,))]


@hookimpl
def framework_components(server: ServerContext) -> Iterable[ComponentSpec]:
    """Bring the GatewayManager, if the server has gateways."""
    config = _config_of(server)
    if config is None:
        return []
    factory = partial(_gateway_manager, config=config)
    return [ComponentSpec(name=GATEWAY_MANAGER, factory=factory, supervision=Supervision())]


def _gateway_manager(
    server: ServerContext, *, config: GatewayConfig
) -> tuple[type[GatewayManager], Mapping[str, object]]:
    from framework_gateway.gateway_manager import Lasting  # noqa: PLC0415 - as in `_manager`
    from framework_gateway.introduction import introduce  # noqa: PLC0415 - the same

    lasting = Lasting(config, introduce(server, config))
    return _manager(), {"server": server, "lasting": lasting}


@hookimpl
def framework_listeners(server: ServerContext) -> Iterable[ListenerSpec]:
    """Accept gateways where the block says."""
    config = _config_of(server)
    if config is None:
        return []
    return [
        ListenerSpec(
            kind=LinkKind.GATEWAY,
            host=config.host,
            port=config.port,
            owner=GATEWAY_MANAGER,
            tls=config.tls,
        )
    ]


@hookimpl
def framework_monitor_endpoints(server: ServerContext) -> Iterable[MonitorEndpoint]:
    """Answer `/gatewayz` and `GATEWAYZ`, where there are gateways."""
    if _config_of(server) is None:
        return []
    from framework_gateway.monitor import (  # noqa: PLC0415 - as in `_manager`
        GatewayzOptions,
        answer_gatewayz,
    )

    return [
        MonitorEndpoint(
            path="/gatewayz",
            answer=partial(answer_gatewayz, server),
            options=GatewayzOptions,
            help="Gateways",
            request="GATEWAYZ",
        ),
    ]


@hookimpl
def framework_monitor_fields(server: ServerContext) -> Iterable[MonitorFields]:
    """Show gateways in `/varz` and STATSZ."""
    if _config_of(server) is None:
        return []
    from framework_gateway.varz import monitor_fields  # noqa: PLC0415 - as in `_manager`

    return monitor_fields(server)


@hookimpl
def framework_health_checks(server: ServerContext) -> Iterable[HealthCheck]:
    """Report a server whose gateway port accepts nobody as unhealthy."""
    if _config_of(server) is None:
        return []
    return [HealthCheck(name="gateways", check=partial(_listener_problem, server))]


@hookimpl
def framework_server_started(server: ServerContext) -> None:
    """Dial the configured clusters, now that others can dial back."""
    if _config_of(server) is not None:
        server.component(GATEWAY_MANAGER).tell(_manager().Start())


@hookimpl
def framework_check_reload(server: ServerContext, diff: ConfigDiff) -> Iterable[TopologyError]:
    """Refuse certificates that gateways could not show."""
    config = diff.config.section_as(GatewayConfig)
    problem = server.check_tls(config.tls) if config else None
    if problem is None:
        return []
    return [TopologyError(diff.config.source("gateway.tls"), f"`gateway`: {problem}")]


@hookimpl
def framework_reloaded(server: ServerContext) -> None:
    """Reload TLS for new gateways, and all other settings."""
    config = _config_of(server)
    if config is not None:
        from framework_gateway.introduction import gateway_info  # noqa: PLC0415 - as `_manager`

        server.configure_tls(LinkKind.GATEWAY, config.tls)
        message = _manager().Reload(config, gateway_info(server, config))
        server.component(GATEWAY_MANAGER).tell(message)


@hookimpl
def framework_server_stopping(server: ServerContext, reason: StopReason) -> None:  # noqa: ARG001
    """Redial no gateways that end from now on."""
    if _config_of(server) is not None:
        server.component(GATEWAY_MANAGER).tell(_manager().Stop())


def _manager() -> type[GatewayManager]:
    """Import the actor; a server without gateways starts sooner without it."""
    from framework_gateway.gateway_manager import GatewayManager  # noqa: PLC0415

    return GatewayManager


def _config_of(server: ServerContext) -> GatewayConfig | None:
    return server.config.section_as(GatewayConfig)


def _listener_problem(server: ServerContext) -> str | None:
    if server.listening_address(LinkKind.GATEWAY) is None:
        return "not listening for gateway connections"
    return None
