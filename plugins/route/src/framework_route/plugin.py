"""Hook implementations of the route plugin."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from framework.actors import Supervision
from framework.hookspecs import hookimpl
from framework.spec import ComponentSpec, LinkKind, MonitorEndpoint
from framework_route import hookspecs
from framework_route.config import RouteConfig, cluster_section
from framework_route.modes import MODES
from framework_route.monitor import ROUTE_MANAGER, RoutezOptions, answer_routez, answer_status

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from framework.spec import (
        CompressionMode,
        HealthCheck,
        HookOffer,
        ListenerSpec,
        MonitorFields,
        ServerContext,
        StatusSection,
        StopReason,
    )
    from framework.topology import ConfigDiff, ConfigSection, TopologyError, TopologyPlanner
    from framework_route.route_manager import RouteManager


@hookimpl
def framework_addhooks(hooks: HookOffer) -> None:
    """Offer hooks for fields of the INFO that servers of a cluster exchange."""
    hooks.add_hookspecs(hookspecs)


@hookimpl
def framework_compression_modes() -> Iterable[CompressionMode]:
    """Declare nats-server's compression modes, and further ones between servers of this kind."""
    return MODES


@hookimpl
def framework_config_sections(
    compression_modes: Mapping[str, CompressionMode],
) -> Iterable[ConfigSection]:
    """Declare the block `cluster`."""
    return [cluster_section(compression_modes)]


@hookimpl
def framework_plan_topology() -> Iterable[TopologyPlanner]:
    """Give the servers of each cluster ports, and routes to each other."""
    from framework_route.topology import CLUSTER_PLANNER  # noqa: PLC0415 - one server has none

    return [CLUSTER_PLANNER]


@hookimpl
def framework_status_sections() -> Iterable[StatusSection]:
    """Show routes in `framework run`."""
    from framework_route.screen import ROUTES_SECTION  # noqa: PLC0415 - no server needs it

    return [ROUTES_SECTION]


@hookimpl
def framework_components(server: ServerContext) -> Iterable[ComponentSpec]:
    """Bring the RouteManager, if the server has routes; a cluster may also have but a name."""
    config = _config_of(server)
    if config is None:
        if name := (server.config.section("cluster") or {}).get("name"):
            server.set_cluster_name(str(name))
        return []
    return [
        ComponentSpec(
            name=ROUTE_MANAGER,
            factory=partial(_route_manager, config=config),
            supervision=Supervision(),
        )
    ]


def _route_manager(
    server: ServerContext, *, config: RouteConfig
) -> tuple[type[RouteManager], Mapping[str, object]]:
    from framework_route.info_fields import (  # noqa: PLC0415 - late
        collect_fields,
        collect_route_checks,
    )
    from framework_route.introduction import introduce  # noqa: PLC0415 - the same
    from framework_route.route_manager import Lasting  # noqa: PLC0415 - the same

    def change(changes: Mapping[str, object | None]) -> None:
        server.component(ROUTE_MANAGER).tell(_manager().ChangeFields(changes))

    def gossip(document: Mapping[str, object]) -> None:
        server.component(ROUTE_MANAGER).tell(_manager().TellAll(document))

    fields = collect_fields(server, change, gossip)
    introduced = introduce(server, config, fields)
    lasting = Lasting(config, introduced, check=collect_route_checks(server))
    return _manager(), {"server": server, "lasting": lasting}


@hookimpl
def framework_listeners(server: ServerContext) -> Iterable[ListenerSpec]:
    """Accept routes where the block says."""
    config = _config_of(server)
    if config is None:
        return []
    from framework.peering import peer_listener  # noqa: PLC0415 - as in `_manager`

    return [peer_listener(LinkKind.ROUTE, config, owner=ROUTE_MANAGER)]


@hookimpl
def framework_monitor_endpoints(server: ServerContext) -> Iterable[MonitorEndpoint]:
    """Answer `/routez` and `ROUTEZ`, also where there are no routes, and the supervisor."""
    return [
        MonitorEndpoint(answer=partial(answer_status, server), status="mesh"),
        MonitorEndpoint(
            path="/routez",
            answer=partial(answer_routez, server),
            options=RoutezOptions,
            help="Routes to other servers",
            request="ROUTEZ",
        ),
    ]


@hookimpl
def framework_monitor_fields(server: ServerContext) -> Iterable[MonitorFields]:
    """Show the cluster in `/varz`, and routes in STATSZ."""
    if _config_of(server) is None:
        return []
    from framework_route.varz import monitor_fields  # noqa: PLC0415 - only a cluster needs it

    return monitor_fields(server)


@hookimpl
def framework_health_checks(server: ServerContext) -> Iterable[HealthCheck]:
    """Report a server whose cluster port accepts no routes as unhealthy."""
    if _config_of(server) is None:
        return []
    from framework.peering import listener_check  # noqa: PLC0415 - as in `_manager`

    return [listener_check(server, LinkKind.ROUTE, "routes")]


@hookimpl
def framework_server_started(server: ServerContext) -> None:
    """Dial the configured routes, now that others can dial back."""
    if _config_of(server) is not None:
        server.component(ROUTE_MANAGER).tell(_manager().Start())


@hookimpl
def framework_accounts_changed(server: ServerContext) -> None:
    """Dial for pinned accounts that were not known before; those of the start are dialed anyway."""
    if server.listening_address(LinkKind.ROUTE) is not None:
        server.component(ROUTE_MANAGER).tell(_manager().AccountsChanged())


@hookimpl
def framework_check_reload(server: ServerContext, diff: ConfigDiff) -> Iterable[TopologyError]:
    """Refuse certificates that routes could not show."""
    from framework.peering import tls_errors  # noqa: PLC0415 - only a reload needs it

    config = diff.config.section_as(RouteConfig)
    return tls_errors(server, diff, "cluster", [config.tls] if config else ())


@hookimpl
def framework_reloaded(server: ServerContext) -> None:
    """Reload TLS for new routes, and all other settings for routes that are up."""
    config = _config_of(server)
    if config is not None:
        from framework_route.introduction import route_info  # noqa: PLC0415 - as in `_manager`

        server.configure_tls(LinkKind.ROUTE, config.tls)
        message = _manager().Reload(config, route_info(server, config))
        server.component(ROUTE_MANAGER).tell(message)


@hookimpl
def framework_lame_duck(server: ServerContext) -> None:
    """Announce lame duck mode to the other servers, so that they send no clients here."""
    if _config_of(server) is not None:
        server.component(ROUTE_MANAGER).tell(_manager().BeginLameDuck())


@hookimpl
def framework_server_stopping(server: ServerContext, reason: StopReason) -> None:  # noqa: ARG001
    """Redial no routes that end from now on."""
    if _config_of(server) is not None:
        server.component(ROUTE_MANAGER).tell(_manager().Stop())


def _manager() -> type[RouteManager]:
    """Import the actor; a server without `cluster` starts 25 modules and 6 ms sooner without it."""
    from framework_route.route_manager import RouteManager  # noqa: PLC0415

    return RouteManager


def _config_of(server: ServerContext) -> RouteConfig | None:
    return server.config.section_as(RouteConfig)
