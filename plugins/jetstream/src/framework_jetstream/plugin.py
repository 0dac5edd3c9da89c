"""Hook implementations of the JetStream plugin."""

from __future__ import annotations

import secrets
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from framework.actors import Reply, Supervision
from framework.hookspecs import hookimpl
from framework.spec import (
    ComponentSpec,
    HealthCheck,
    LinkKind,
    MonitorEndpoint,
    MonitorFields,
    Overflow,
    PortSpec,
    ServiceReply,
    ServiceSpec,
    TapSpec,
)
from framework_jetstream import hookspecs
from framework_jetstream.config import JetStreamConfig, jetstream_section

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from framework.spec import (
        ClosedState,
        CommandGroup,
        ConnectionInfo,
        DownloadSpec,
        HookOffer,
        Port,
        ServerContext,
        ServiceAnswer,
        ServiceRequest,
    )
    from framework.topology import ConfigDiff, ConfigSection, Topology, TopologyError
    from framework_jetstream.encryption._cipher import Keys
    from framework_jetstream.log.folder import LogFolder
    from framework_jetstream.parts import Parts
    from framework_jetstream.rivals import GatewayPeer, RoutePeer

API: Final = "$JS.API."
_IMPORTS: Final = ("framework_jetstream.parts", "framework_jetstream.recovery")
_SALT_BYTES: Final = 16
_PORT_BYTES_MAX: Final = 128 * 1024 * 1024
"""As much as nats-server lets wait for a stream (`max_buffered_size`)."""
_parts: WeakKeyDictionary[ServerContext, Parts] = WeakKeyDictionary()


@hookimpl
def framework_addhooks(hooks: HookOffer) -> None:
    """Offer the hooks by which plugins place streams, and keep their segments."""
    hooks.add_hookspecs(hookspecs)


@hookimpl
def framework_config_sections() -> Iterable[ConfigSection]:
    """Declare the block `jetstream`."""
    return [jetstream_section()]


@hookimpl
def framework_check_topology(topology: Topology) -> Iterable[TopologyError]:
    """Refuse servers that no majority would share streams with."""
    if len(topology.servers) == 1:
        return []  # and what that imports takes its time at each start
    from framework_jetstream.sharing import lonely_servers  # noqa: PLC0415 - no server

    return lonely_servers(topology)


@hookimpl
def framework_add_commands(cli: CommandGroup) -> None:
    """Add `verify`, `dump` and `lost`."""
    from framework_jetstream.store_commands import add_store_commands  # noqa: PLC0415 - no server

    add_store_commands(cli)


@hookimpl
def framework_components(server: ServerContext) -> Iterable[ComponentSpec]:
    """Bring the actor that has the streams, if the server is to have some."""
    config = server.config.section_as(JetStreamConfig)
    if config is None:
        return []
    server.accounts.offer_jetstream(config.domain)
    specs = [
        ComponentSpec(
            name="jetstream", factory=_component, supervision=Supervision(), imports=_IMPORTS
        )
    ]
    if _shares_streams(server, config):
        specs.append(
            ComponentSpec(
                name="jetstream_meta",
                factory=_meta_group,
                requires=("jetstream",),
                supervision=Supervision(restarts_max=0),
            )
        )
    return specs


def _shares_streams(server: ServerContext, config: JetStreamConfig) -> bool:
    from framework_jetstream.sharing import shares_streams  # noqa: PLC0415 - who has some

    return shares_streams(server.config, config)


def _meta_group(server: ServerContext) -> tuple[type[Any], Mapping[str, Any]]:
    cluster = _parts[server].cluster
    assert cluster is not None
    return cluster.component(server)


def _component(server: ServerContext) -> tuple[type[Any], Mapping[str, Any]]:
    from framework_jetstream.parts import assemble  # noqa: PLC0415 - for who has streams

    config = server.config.section_as(JetStreamConfig)
    assert config is not None
    parts = _parts[server] = assemble(server, config, time.time_ns)
    return parts.component()


@hookimpl
def framework_ports(server: ServerContext) -> Iterable[PortSpec]:
    """Open the engine's port, and start its thread."""
    parts = _parts.get(server)
    if parts is None:
        return []

    def start(port: Port) -> Awaitable[None]:
        from framework_jetstream.jet_stream import JetStream  # noqa: PLC0415 - for who has streams
        from framework_jetstream.recovery import by_account, restore  # noqa: PLC0415 - the same
        from framework_jetstream.stream.opening import Opening  # noqa: PLC0415 - the same

        if parts.cluster is not None:
            parts.cluster.begin_store()
        folder = _open_folder(server, parts)
        if parts.cluster is not None:
            parts.cluster.use_port(parts.link)
        restored = parts.link.use_log(folder, restore, parts.host.config, parts.storage)
        known, strangers = by_account(restored.streams, parts.host.account_number)
        for it in strangers:
            server.log.warning(
                "Stream {stream} is kept, and not served: there is no account {account}",
                stream=it.saved.config.name,
                account=it.saved.account,
            )
        if restored.anew:
            server.log.warning(
                "JetStream is repairing: the log is damaged, and {count} groups, of streams and"
                " consumers, come from the servers that have them too",
                count=restored.anew,
            )
        parts.monitor.watch(partial(_trouble, parts), restored.damaged, parts.link.scrubs)
        parts.monitor.watch_storage(parts.storage.problems, restored.offline)
        parts.book.take_offline(restored.offline)
        parts.link.hear_of_losses(parts.monitor.lose, parts.monitor.mend)
        parts.link.start(port)
        if parts.cluster is not None:
            parts.cluster.begin(parts.link, restored)
        opening = Opening(sum(len(it.numbers) for it in known))
        last = max((it.number for it in restored.streams), default=0)
        server.component("jetstream").tell(JetStream.Restore(known, last, opening.end_one))
        return opening.done

    async def leave() -> None:
        from framework_jetstream.engine.verbs import Verb  # noqa: PLC0415 - for who has streams

        if parts.cluster is not None:
            parts.cluster.leave()
        told, owner = Reply[None](), server.component("jetstream")
        parts.link.ask(owner, Verb.LEAVE_CLIENTS, 0, then=lambda _: told.set())
        await told

    return [
        PortSpec(
            name="jetstream",
            start=start,
            stop=parts.link.join,
            leave=leave,
            bytes_max=_PORT_BYTES_MAX,
            overflow=Overflow.STALL,
            said_bytes_max=_PORT_BYTES_MAX,
        )
    ]


def _trouble(parts: Parts) -> str:
    """Return what is wrong with the files of a server, or with its part in the meta group."""
    return parts.link.trouble() or (parts.cluster.view.failure if parts.cluster else "")


def _keys(server: ServerContext, config: JetStreamConfig) -> Keys | None:
    """Return what files are encrypted with, and say it."""
    if not config.key:
        return None
    from framework_jetstream.encryption.ciphers import CIPHER_NAMES  # noqa: PLC0415 - who encrypts
    from framework_jetstream.encryption.keys import keys_of  # noqa: PLC0415 - the same

    keys = keys_of(config.key, config.prev_key, config.cipher, secrets.token_bytes(_SALT_BYTES))
    assert keys is not None, "there is a key"
    server.log.info("Streams are encrypted with {cipher}", cipher=CIPHER_NAMES[keys.cipher])
    return keys


def _open_folder(server: ServerContext, parts: Parts) -> LogFolder:
    """Open the log of a server, and say how."""
    from framework_jetstream.log.folder import LogFolder  # noqa: PLC0415 - for who has streams
    from framework_jetstream.resources import LOG_FOLDER  # noqa: PLC0415 - the same
    from framework_jetstream.storage.folder import kept_heads  # noqa: PLC0415 - the same
    from framework_jetstream.store.encrypted import check_segments  # noqa: PLC0415 - the same

    config = parts.host.config
    if config.sync_interval_s:
        server.log.warning(
            "Streams are synced every {seconds} s: a power cut may lose what was acknowledged",
            seconds=config.sync_interval_s,
        )
    path, keys = Path(config.store_dir, LOG_FOLDER), _keys(server, config)
    _, others = check_segments(path, keys, kept_heads(path))
    folder = LogFolder(path, config.sync_interval_s, keys)
    if others or folder.log.has_other_keys:
        parts.host.rekeyed = partial(_say_rekeyed, server, path, keys, config.prev_key)
        server.log.info(
            "What is in {folder} is not all encrypted with `key`: it is written again now",
            folder=str(path),
        )
    return folder


def _say_rekeyed(server: ServerContext, path: Path, keys: Keys | None, prev_key: str) -> bool:
    """Say that nothing is left that was not written with the key of now, if that is so."""
    from framework_jetstream.storage.folder import kept_heads  # noqa: PLC0415 - who encrypts
    from framework_jetstream.store.encrypted import check_segments  # noqa: PLC0415 - the same

    _, others = check_segments(path, keys, kept_heads(path))
    if not others:
        more = ": `prev_key` is not needed any more" if prev_key else ""
        server.log.info(
            "All that is in {folder} is encrypted with `key` now{more}", folder=str(path), more=more
        )
    return not others


@hookimpl
def framework_connection_opened(server: ServerContext, connection: ConnectionInfo) -> None:
    """Let the engine know which server a route leads to."""
    _tell_peer(server, connection, is_open=True)


@hookimpl
def framework_connection_closed(
    server: ServerContext, connection: ConnectionInfo, reason: ClosedState
) -> None:
    """Let the engine forget a route."""
    del reason
    _tell_peer(server, connection, is_open=False)


def _tell_peer(server: ServerContext, connection: ConnectionInfo, *, is_open: bool) -> None:
    parts = _parts.get(server)
    if parts is None or parts.cluster is None or connection.kind is not LinkKind.ROUTE:
        return
    from framework_jetstream.meta.peers import number_of, peer_of  # noqa: PLC0415 - who has streams

    peer = number_of(peer_of(connection.name)) if is_open else 0
    parts.link.tell_peer(connection.link, peer)


@hookimpl
def framework_services(server: ServerContext) -> Iterable[ServiceSpec]:
    """Answer the API, which accounts import from the system account."""
    if server not in _parts:
        return []
    from framework_jetstream.api.subjects import SERVED  # noqa: PLC0415 - for who has streams

    answer = partial(_answer, server)
    return [ServiceSpec(name=f"jetstream {it}", subject=it, answer=answer) for it in SERVED]


@hookimpl
def framework_taps(server: ServerContext) -> Iterable[TapSpec]:
    """Hear of other servers with JetStream."""
    parts, account = _parts.get(server), server.accounts.system_account
    if parts is None or not account:
        return []
    from framework_jetstream.rivals import HEARD  # noqa: PLC0415 - for who has streams

    receive = parts.rivals.receive
    return [TapSpec(name="jetstream-rivals", subject=HEARD, account=account, receive=receive)]


@hookimpl(optionalhook=True)
def framework_route_check(
    server: ServerContext,
) -> Callable[[RoutePeer, Mapping[str, object]], str] | None:
    """Let no nats-server with JetStream into a cluster whose servers share streams."""

    def check(peer: RoutePeer, fields: Mapping[str, object]) -> str:
        parts = _parts.get(server)
        return parts.rivals.refuse(peer, fields) if parts is not None else ""

    return check


@hookimpl(optionalhook=True)
def framework_gateway_check(
    server: ServerContext, recheck: Callable[[], None]
) -> Callable[[GatewayPeer], str] | None:
    """Let no nats-server with JetStream into a supercluster whose servers share streams."""

    def check(peer: GatewayPeer) -> str:
        parts = _parts.get(server)
        return parts.rivals.refuse_gateway(peer, recheck) if parts is not None else ""

    return check


async def _answer(server: ServerContext, request: ServiceRequest) -> ServiceAnswer:
    """Answer one request of an account."""
    from framework_jetstream.api.asker import asker_of  # noqa: PLC0415 - for who has streams
    from framework_jetstream.jet_stream import JetStream  # noqa: PLC0415 - the same

    if _parts[server].rivals.problem:
        return None  # another server answers
    headers = request.headers
    asker = asker_of(headers, server.accounts.system_account)
    if asker is None:
        return None
    tokens, cluster = tuple(request.subject.removeprefix(API).split(".")), _parts[server].cluster
    if cluster is not None and cluster.is_gathered_elsewhere(asker, tokens):
        return None
    reply = Reply[bytes | None]()
    asked = JetStream.ApiRequest(
        asker=asker,
        tokens=tokens,
        payload=request.payload,
        headers=headers,
        reply=reply,
        subject=request.reply,
        came_ns=request.came_ns,
    )
    if cluster is not None:
        from framework_jetstream.cluster.meta_group import (  # noqa: PLC0415 - who shares streams
            META_GROUP,
            MetaGroup,
        )

        server.component(META_GROUP).tell(MetaGroup.Request(asked))
    else:
        server.component("jetstream").tell(asked)
    text = await reply
    _parts[server].tracking.answered(asker, request.subject, request.payload, text)
    return ServiceReply(text, asked.said) if text is not None and asked.said else text


@hookimpl
def framework_monitor_endpoints(server: ServerContext) -> Iterable[MonitorEndpoint]:
    """Answer `/jsz` and `JSZ`."""
    if server not in _parts:
        return []
    from framework_jetstream.jsz import JszOptions  # noqa: PLC0415 - for who has streams

    monitor = _parts[server].monitor
    return [
        *_raftz(server),
        MonitorEndpoint(
            path="/jsz",
            answer=monitor.answer_jsz,
            options=JszOptions,
            help="JetStream",
            request="JSZ",
        ),
        MonitorEndpoint(
            answer=monitor.answer_account_jsz, options=JszOptions, account_request="JSZ"
        ),
    ]


def _raftz(server: ServerContext) -> Iterable[MonitorEndpoint]:
    """Answer `/raftz` and `RAFTZ`, where servers share streams."""
    if _parts[server].cluster is None:
        return []
    from framework_jetstream.cluster.raftz import RaftzOptions  # noqa: PLC0415 - who shares streams

    return [
        MonitorEndpoint(
            path="/raftz",
            answer=_parts[server].monitor.answer_raftz,
            options=RaftzOptions,
            help="Raft Groups",
            request="RAFTZ",
        )
    ]


@hookimpl
def framework_downloads(server: ServerContext) -> Iterable[DownloadSpec]:
    """Send streams as tables."""
    if server not in _parts:
        return []
    from framework_jetstream.exports.download import downloads  # noqa: PLC0415 - who has streams

    return [downloads(server)]


@hookimpl
def framework_monitor_fields(server: ServerContext) -> Iterable[MonitorFields]:
    """Fill `jetstream` in `/varz` and STATSZ, and `feature_flags` in the former."""
    if server not in _parts:
        return []
    monitor, names = _parts[server].monitor, ("jetstream",)
    return [
        MonitorFields(document="/varz", names=(*names, "feature_flags"), make=monitor.varz_fields),
        MonitorFields(document="STATSZ", names=names, make=monitor.statsz_fields),
    ]


@hookimpl
def framework_health_checks(server: ServerContext) -> Iterable[HealthCheck]:
    """Say how streams are."""
    if server not in _parts:
        return []
    return [HealthCheck(name="jetstream", examine=_parts[server].monitor.examine)]


@hookimpl
def framework_reloaded(server: ServerContext, diff: ConfigDiff) -> None:
    """Follow other limits."""
    config = diff.config.section_as(JetStreamConfig)
    if server in _parts and config is not None:
        from framework_jetstream.jet_stream import JetStream  # noqa: PLC0415 - for who has streams

        _parts[server].host.follow(config)
        server.component("jetstream").tell(JetStream.FollowLimits())


@hookimpl
def framework_server_info(server: ServerContext) -> Mapping[str, object]:
    """Tell clients that there are streams."""
    parts = _parts.get(server)
    if parts is None:
        return {}
    domain = parts.host.config.domain
    return {"jetstream": True, **({"domain": domain} if domain else {})}
