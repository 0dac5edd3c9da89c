"""Hook implementations of the leaf node plugin."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from framework.actors import Supervision
from framework.hookspecs import hookimpl
from framework.spec import (
    LEAF_DIALECT,
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
from framework_leafnode.config import LeafConfig, leafnode_section

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from framework.spec import (
        CompressionMode,
        MonitorFields,
        ServerContext,
        StatusSection,
        StopReason,
    )
    from framework.topology import ConfigDiff, ConfigSection, ServerConfig, TopologyError
    from framework_leafnode.leaf_manager import LeafManager
    from framework_leafnode.neighbours import Peer

LEAF_MANAGER: Final = "leaf_manager"
"""Name of the ComponentSpec; `framework_leafnode.monitor` has it as well."""


@hookimpl
def framework_config_sections(
    compression_modes: Mapping[str, CompressionMode],
) -> Iterable[ConfigSection]:
    """Declare the block `leafnodes`."""
    return [leafnode_section(compression_modes, _read)]


def _read(value: Mapping[str, Any]) -> LeafConfig:
    from framework_leafnode.reading import read_config  # noqa: PLC0415 - as in `_manager`

    return read_config(value)


@hookimpl
def framework_status_sections() -> Iterable[StatusSection]:
    """Show leaf nodes in `framework run`."""
    from framework_leafnode.screen import LEAFNODES_SECTION  # noqa: PLC0415 - no server needs it

    return [LEAFNODES_SECTION]


@hookimpl
def framework_link_kinds(config: ServerConfig) -> Iterable[LinkKindSpec]:
    """Declare leaf nodes, if the server has them: what nobody has costs nothing."""
    if config.section_as(LeafConfig) is None:
        return []
    traits = KindTraits(
        dialect=LEAF_DIALECT,
        scope=Scope.LEAF,
        other_scopes=frozenset({Scope.HUB}),
        group_class=GroupClass.IF_NONE,
        enters=True,
        is_numbered=True,
        may_introduce=True,
    )
    hidden = ReservedPrefix(prefix=b"_GR_.", hidden_tokens=2)
    return [LinkKindSpec(kind=LinkKind.LEAF, traits=traits, reserved=(hidden,))]


@hookimpl
def framework_components(server: ServerContext) -> Iterable[ComponentSpec]:
    """Bring the LeafManager, if the server has leaf nodes or hubs."""
    config = _config_of(server)
    if config is None:
        return []
    from framework.peering import check_dials  # noqa: PLC0415 - as in `_manager`

    check_dials(server, "leafnodes.remotes", (it.tls for it in config.settings.remotes))
    factory = partial(_leaf_manager, config=config)
    return [ComponentSpec(name=LEAF_MANAGER, factory=factory, supervision=Supervision())]


def _leaf_manager(
    server: ServerContext, *, config: LeafConfig
) -> tuple[type[LeafManager], Mapping[str, object]]:
    from framework_leafnode.introduction import introduce  # noqa: PLC0415 - as in `_manager`
    from framework_leafnode.leaf_manager import Lasting  # noqa: PLC0415 - the same

    lasting = Lasting(config, introduce(server, config))
    return _manager(), {"server": server, "lasting": lasting}


@hookimpl
def framework_listeners(server: ServerContext) -> Iterable[ListenerSpec]:
    """Accept leaf nodes where the block says, and own those that are dialed."""
    config = _config_of(server)
    if config is None:
        return []
    return [
        ListenerSpec(
            kind=LinkKind.LEAF,
            host=config.host,
            port=config.port,
            owner=LEAF_MANAGER,
            tls=config.tls,
        )
    ]


@hookimpl
def framework_monitor_endpoints(server: ServerContext) -> Iterable[MonitorEndpoint]:
    """Answer `/leafz` and `LEAFZ`, where there are leaf nodes."""
    if _config_of(server) is None:
        return []
    from framework.peering import LinkRates  # noqa: PLC0415 - as in `_manager`
    from framework_leafnode.monitor import (  # noqa: PLC0415 - the same
        LeafzOptions,
        answer_leafz,
        answer_status,
    )

    return [
        MonitorEndpoint(answer=partial(answer_status, server, LinkRates()), status="leafnodes"),
        MonitorEndpoint(
            path="/leafz",
            answer=partial(answer_leafz, server),
            options=LeafzOptions,
            help="LeafNodes",
            request="LEAFZ",
            account_request="LEAFZ",
        ),
    ]


@hookimpl
def framework_monitor_fields(server: ServerContext) -> Iterable[MonitorFields]:
    """Show leaf nodes in `/varz`."""
    if _config_of(server) is None:
        return []
    from framework_leafnode.varz import monitor_fields  # noqa: PLC0415 - as in `_manager`

    return monitor_fields(server)


@hookimpl
def framework_health_checks(server: ServerContext) -> Iterable[HealthCheck]:
    """Report a server whose leaf node port accepts nobody as unhealthy."""
    config = _config_of(server)
    if config is None or config.port is None:
        return []
    from framework.peering import listener_check  # noqa: PLC0415 - as in `_manager`

    return [listener_check(server, LinkKind.LEAF, "leafnodes")]


@hookimpl
def framework_server_started(server: ServerContext) -> None:
    """Dial the hubs, now that everything is there that they may ask for."""
    if _config_of(server) is not None:
        server.component(LEAF_MANAGER).tell(_manager().Start())


@hookimpl(optionalhook=True)
def framework_route_info_fields(server: ServerContext) -> Mapping[str, object]:
    """Tell the other servers of the cluster where this one accepts leaf nodes."""
    config = _config_of(server)
    if config is None or config.port is None:
        return {}
    from framework_leafnode.introduction import leaf_info  # noqa: PLC0415 - as `_manager`
    from framework_leafnode.neighbours import URLS_FIELD  # noqa: PLC0415 - the same

    urls = leaf_info(server, config).leafnode_urls
    return {URLS_FIELD: urls} if urls else {}


@hookimpl(optionalhook=True)
def framework_route_info_received(
    server: ServerContext, peer: Peer, fields: Mapping[str, object]
) -> None:
    """Hear where another server accepts leaf nodes."""
    if _config_of(server) is None:
        return
    from framework_leafnode.neighbours import neighbours_of  # noqa: PLC0415 - as `_manager`

    neighbours = neighbours_of(server)
    neighbours.receive_fields(peer, fields)
    try:
        manager = server.component(LEAF_MANAGER)
    except KeyError:
        return  # it asks by itself when it begins
    manager.tell(_manager().NeighboursChanged(neighbours.urls))


@hookimpl
def framework_check_reload(server: ServerContext, diff: ConfigDiff) -> Iterable[TopologyError]:
    """Refuse certificates that leaf nodes could not be shown."""
    config = diff.config.section_as(LeafConfig)
    if config is None:
        return []
    from framework.peering import tls_errors  # noqa: PLC0415 - as in `_manager`

    return tls_errors(server, diff, "leafnodes", config.all_tls)


@hookimpl
def framework_reloaded(server: ServerContext) -> None:
    """Reload TLS for new leaf nodes, and all other settings."""
    config = _config_of(server)
    if config is not None:
        from framework_leafnode.introduction import leaf_info  # noqa: PLC0415 - as `_manager`

        server.configure_tls(LinkKind.LEAF, config.tls)
        message = _manager().Reload(config, leaf_info(server, config))
        server.component(LEAF_MANAGER).tell(message)


@hookimpl
def framework_server_stopping(server: ServerContext, reason: StopReason) -> None:  # noqa: ARG001
    """Redial no hubs that end the connection from now on."""
    if _config_of(server) is not None:
        server.component(LEAF_MANAGER).tell(_manager().Stop())


def _manager() -> type[LeafManager]:
    """Import the actor; a server without leaf nodes starts sooner without it."""
    from framework_leafnode.leaf_manager import LeafManager  # noqa: PLC0415

    return LeafManager


def _config_of(server: ServerContext) -> LeafConfig | None:
    return server.config.section_as(LeafConfig)
