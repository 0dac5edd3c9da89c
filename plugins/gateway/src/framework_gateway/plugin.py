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
    KindTraits,
    LinkKind,
    LinkKindSpec,
    MonitorEndpoint,
    ReservedPrefix,
    Scope,
)
from framework.topology import TopologyError, TopologyErrors
from framework_gateway import hookspecs
from framework_gateway.config import GatewayConfig, gateway_section

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from framework.spec import (
        CompressionMode,
        ConnectionInfo,
        HealthCheck,
        HookOffer,
        ListenerSpec,
        MonitorFields,
        ServerContext,
        StatusSection,
        StopReason,
    )
    from framework.topology import ConfigDiff, ConfigSection, ServerConfig, TopologyPlanner
    from framework_gateway.gateway_manager import GatewayManager
    from framework_gateway.neighbours import Neighbours, Peer

GATEWAY_MANAGER: Final = "gateway_manager"
"""Name of the ComponentSpec; `framework_gateway.monitor` has it as well."""


@hookimpl
def framework_addhooks(hooks: HookOffer) -> None:
    """Offer the hook by which plugins say who may have gateways."""
    hooks.add_hookspecs(hookspecs)


@hookimpl
def framework_config_sections(
    compression_modes: Mapping[str, CompressionMode],
) -> Iterable[ConfigSection]:
    """Declare the block `gateway`."""
    return [gateway_section(compression_modes, _read)]


def _read(value: Mapping[str, Any]) -> GatewayConfig:
    from framework_gateway.reading import read_config  # noqa: PLC0415 - as in `_manager`

    return read_config(value)


@hookimpl
def framework_plan_topology() -> Iterable[TopologyPlanner]:
    """Give the servers of a supercluster ports, and gateways to each other's clusters."""
    from framework_gateway.topology import GATEWAY_PLANNER  # noqa: PLC0415 - one server has none

    return [GATEWAY_PLANNER]


@hookimpl
def framework_status_sections() -> Iterable[StatusSection]:
    """Show gateways in `framework run`."""
    from framework_gateway.screen import GATEWAYS_SECTION  # noqa: PLC0415 - no server needs it

    return [GATEWAYS_SECTION]


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
        may_introduce=True,
    )
    hidden = ReservedPrefix(prefix=b"_GR_.", hidden_tokens=2)
    return [LinkKindSpec(kind=LinkKind.GATEWAY, traits=traits, reserved=(hidden,))]


@hookimpl
def framework_components(server: ServerContext) -> Iterable[ComponentSpec]:
    """Bring the GatewayManager, if the server has gateways."""
    config = _config_of(server)
    if config is None:
        return []
    _name_cluster(server, config)
    from framework.peering import check_dials  # noqa: PLC0415 - as in `_manager`

    check_dials(server, "gateway.gateways", (it.tls for it in config.mesh.remotes))
    factory = partial(_gateway_manager, config=config)
    return [ComponentSpec(name=GATEWAY_MANAGER, factory=factory, supervision=Supervision())]


def _name_cluster(server: ServerContext, config: GatewayConfig) -> None:
    """Let the cluster have the name that its gateways say.

    Source: nats-server `server.go`, `NewServer`, `validateCluster`.
    """
    said = (server.config.section("cluster") or {}).get("name")
    if said and said != config.name:
        problem = "cluster name conflicts between cluster and gateway definitions"
        fix = f"call both {said}, or leave `cluster.name` out"
        raise TopologyErrors([TopologyError(server.config.source("gateway.name"), problem, fix)])
    server.set_cluster_name(config.name)


def _gateway_manager(
    server: ServerContext, *, config: GatewayConfig
) -> tuple[type[GatewayManager], Mapping[str, object]]:
    from framework_gateway.checking import collect_gateway_checks  # noqa: PLC0415 - as `_manager`
    from framework_gateway.gateway_manager import Lasting  # noqa: PLC0415 - the same
    from framework_gateway.introduction import introduce  # noqa: PLC0415 - the same

    check = collect_gateway_checks(server, lambda: _tell(server, _manager().Recheck()))
    lasting = Lasting(config, introduce(server, config), check)
    return _manager(), {"server": server, "lasting": lasting}


@hookimpl
def framework_listeners(server: ServerContext) -> Iterable[ListenerSpec]:
    """Accept gateways where the block says."""
    config = _config_of(server)
    if config is None:
        return []
    from framework.peering import peer_listener  # noqa: PLC0415 - as in `_manager`

    return [peer_listener(LinkKind.GATEWAY, config, owner=GATEWAY_MANAGER)]


@hookimpl
def framework_monitor_endpoints(server: ServerContext) -> Iterable[MonitorEndpoint]:
    """Answer `/gatewayz` and `GATEWAYZ` where there are gateways, and the supervisor."""
    if _config_of(server) is None:
        return []
    from framework.peering import LinkRates  # noqa: PLC0415 - as in `_manager`
    from framework.spec import GatewayzOptions  # noqa: PLC0415 - the same
    from framework_gateway.monitor import (  # noqa: PLC0415 - the same
        answer_gatewayz,
        answer_status,
    )

    return [
        MonitorEndpoint(answer=partial(answer_status, server, LinkRates()), status="gateways"),
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
    from framework.peering import listener_check  # noqa: PLC0415 - as in `_manager`

    return [listener_check(server, LinkKind.GATEWAY, "gateways")]


@hookimpl
def framework_server_started(server: ServerContext) -> None:
    """Dial the configured clusters, now that others can dial back."""
    if _config_of(server) is not None:
        server.component(GATEWAY_MANAGER).tell(_manager().Start())


@hookimpl(optionalhook=True)
def framework_route_info_fields(
    server: ServerContext, gossip: Callable[[Mapping[str, object]], None]
) -> Mapping[str, object]:
    """Tell the other servers of the cluster where the gateway of this one is."""
    config = _config_of(server)
    if config is None:
        return {}
    from framework_gateway.introduction import gateway_info  # noqa: PLC0415 - as `_manager`
    from framework_gateway.neighbours import URL_FIELD, neighbours_of  # noqa: PLC0415 - the same

    neighbours_of(server).gossip = gossip
    return {URL_FIELD: gateway_info(server, config).gateway_url}


@hookimpl(optionalhook=True)
def framework_route_info_received(
    server: ServerContext, peer: Peer, fields: Mapping[str, object]
) -> None:
    """Hear where the gateway of another server is."""
    if neighbours := _neighbours(server):
        neighbours.receive_fields(peer, fields)
        _tell_neighbours(server)


@hookimpl(optionalhook=True)
def framework_route_gossip_received(server: ServerContext, fields: Mapping[str, object]) -> None:
    """Hear of a cluster that another server of this one knows."""
    gateway, urls = fields.get("gateway"), fields.get("gateway_urls")
    if _config_of(server) is None or not isinstance(gateway, str) or not isinstance(urls, list):
        return
    texts = tuple(url for url in urls if isinstance(url, str))
    _tell(server, _manager().Gossiped(gateway, texts))


@hookimpl
def framework_connection_opened(server: ServerContext, connection: ConnectionInfo) -> None:
    """Know the routes by which answers find their server."""
    if connection.kind is not LinkKind.ROUTE or connection.account:
        return
    if neighbours := _neighbours(server):
        neighbours.receive_route(connection.link, connection.name)
        _tell_neighbours(server)


@hookimpl
def framework_connection_closed(server: ServerContext, connection: ConnectionInfo) -> None:
    """Forget a route."""
    if connection.kind is not LinkKind.ROUTE or connection.account:
        return
    if neighbours := _neighbours(server):
        neighbours.receive_closed(connection.link)
        _tell_neighbours(server)


def _neighbours(server: ServerContext) -> Neighbours | None:
    if _config_of(server) is None:
        return None
    from framework_gateway.neighbours import neighbours_of  # noqa: PLC0415 - as in `_manager`

    return neighbours_of(server)


def _tell_neighbours(server: ServerContext) -> None:
    _tell(server, _manager().NeighboursChanged())


def _tell(server: ServerContext, message: object) -> None:
    """Tell the manager, if it runs: it asks by itself when it begins."""
    try:
        manager = server.component(GATEWAY_MANAGER)
    except KeyError:
        return
    manager.tell(message)


@hookimpl
def framework_check_reload(server: ServerContext, diff: ConfigDiff) -> Iterable[TopologyError]:
    """Refuse certificates that gateways could not show."""
    from framework.peering import tls_errors  # noqa: PLC0415 - only a reload needs it

    config = diff.config.section_as(GatewayConfig)
    return tls_errors(server, diff, "gateway", config.all_tls if config else ())


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
def framework_lame_duck(server: ServerContext) -> None:
    """Name the gateways of the other servers alone from now on, if there are any."""
    if _config_of(server) is not None:
        server.component(GATEWAY_MANAGER).tell(_manager().BeginLameDuck())


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
