"""One server: built from its configuration and its plugins, started, reloaded, stopped."""

from __future__ import annotations

import asyncio
import os
import random
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from framework.dataplane import Plane
from framework.errors import FrameworkError, PluginError
from framework.server.assembly import Assembly
from framework.server.clients.client_info import ServerIdentity
from framework.server.limits import STOP_DEADLINE_S
from framework.server.reload import ReloadImpossible, ReloadOutcome, log_changes, refuse_if_any
from framework.server.settings import settings_from_config
from framework.server.stopping import StopSteps
from framework.spec import LinkKind, StopReason
from framework.topology import diff_configs, inert_settings
from framework.wire.server_id import server_id_from_random
from framework.wire.version import NATS_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from framework.dataplane.totals import Totals
    from framework.plugins import PluginRegistry
    from framework.server.lame_duck import LameDuck
    from framework.server.logging.logs import Logs
    from framework.server.plane_port import MakePlane
    from framework.spec import MonitorEndpoint, TransportSpec
    from framework.topology import Change, ServerConfig


class Server:
    """A server in the running asyncio loop.

    Args:
        config: What it is told.
        plugins: What it is made of besides the core; of this server alone.
        logs: Where its log lines go; the caller closes it.
        make_plane: Makes its data plane.
    """

    def __init__(
        self,
        config: ServerConfig,
        plugins: PluginRegistry,
        *,
        logs: Logs,
        make_plane: MakePlane = Plane,
    ) -> None:
        self.settings = settings_from_config(config)
        self.is_ready = False
        self.last_reload = ReloadOutcome()
        self.changed = asyncio.Event()
        """Set when whoever watches should look again: a reload has ended, lame duck mode begun."""
        self.read_again: Callable[[], ServerConfig] | None = None
        """Reads the configuration anew, for a reload; None: it can't be."""
        server_id = plugins.server_key(config) or server_id_from_random(os.urandom(32))
        self.identity = ServerIdentity(server_id, self.settings.name or server_id)
        self.log = logs.log
        plugins.log_to(self.log)
        self._config = config
        self._plugins = plugins
        self._logs = logs
        self._make_plane = make_plane
        self._assembly: Assembly | None = None
        self._lame_duck: LameDuck | None = None
        self._leaving: asyncio.Task[None] | None = None
        self._reloading = asyncio.Lock()
        self._steps = StopSteps(log=self.log, deadline_s=STOP_DEADLINE_S)
        self._stopped: asyncio.Future[StopReason] | None = None

    @property
    def is_lame_duck(self) -> bool:
        """Whether it accepts no more clients."""
        return self._lame_duck is not None

    @property
    def totals(self) -> Totals:
        """Counters of the data plane; only while it is ready."""
        return self._running().plane.totals()

    def address(self, kind: LinkKind) -> tuple[str, int] | None:
        """Return host as configured and real port of a listener; None when there is none."""
        return self._assembly.context.addresses.get(kind) if self._assembly else None

    @property
    def http_address(self) -> tuple[str, int] | None:
        """Host as configured and real port of monitoring; None when there is none."""
        http = self._assembly.listeners.http_socket if self._assembly else None
        return (http.host, http.port) if http else None

    async def status_fields(self) -> Mapping[str, object]:
        """Return the status fields of plugins; only while the server is ready."""
        return {name: await _answer(it) for name, it in self._running().status_fields.items()}

    async def start(self) -> None:
        """Bind every address, run every component, then let connections in.

        Raises:
            ListenError: An address can't be listened on.
            PluginError: A plugin failed.
            OSError: The process ID or the ports can't be written.
        """
        assert self._assembly is None, "a server starts once"
        self._stopped = asyncio.get_running_loop().create_future()
        self._assembly = Assembly(
            config=self._config,
            settings=self.settings,
            identity=self.identity,
            plugins=self._plugins,
            log=self.log,
            make_plane=self._make_plane,
            steps=self._steps,
            failed=self._fail,
            reload=self.reload_files,
        )
        try:
            self._assembly.bind()
            self._log_beginning()
            self._warn_of_inert()
            await self._assembly.run()
            self._assembly.open()
        except BaseException:
            await self._steps.run()
            raise
        self.is_ready = True
        self._assembly.is_well = True
        self._log_ready()
        self._plugins.server_started(self._assembly.context)

    async def wait_stopped(self) -> StopReason:
        """Return once the server has stopped, and say why it did."""
        assert self._stopped is not None, "start it first"
        return await asyncio.shield(self._stopped)

    async def stop(self, reason: StopReason = StopReason.ASKED) -> None:
        """Stop it all, in reverse; does nothing when it was stopped before."""
        if self._stopped is None or not self.is_ready:
            return
        self.is_ready = False
        assembly = self._running()
        assembly.is_well = False
        if self._leaving:
            self._leaving.cancel()
        self.log.info("Initiating Shutdown...")
        self._plugins.server_stopping(assembly.context, reason)
        await self._steps.run()
        if not self._stopped.done():
            self._stopped.set_result(reason)

    async def enter_lame_duck(self) -> None:
        """Enter lame duck mode: close clients one after the other, then stop."""
        if not self.is_ready or self.is_lame_duck:
            return
        assembly, duration_s = self._running(), self.settings.lame_duck_duration_s
        from framework.server.lame_duck import LameDuck  # noqa: PLC0415 -- most never are

        self._lame_duck = LameDuck(
            plane=assembly.plane,
            close_to_clients=assembly.listeners.close_to_clients,
            clients=assembly.clients,
            tell=partial(assembly.tell_of_lame_duck, duration_s),
            rng=random.Random(),  # noqa: S311 - an order, no secret
            log=self.log,
            duration_s=duration_s,
            grace_period_s=self.settings.lame_duck_grace_period_s,
        )
        assembly.is_well = False
        self._leaving = asyncio.create_task(self._lame_duck.run())
        self.changed.set()
        await asyncio.wait([self._leaving])
        await self.stop()

    async def reload_files(self) -> Sequence[Change]:
        """Read the configuration again, and put it in force.

        Raises:
            ReloadImpossible: There is no file, or the server is not ready.
            FrameworkError: The file has mistakes, or something in it needs a restart.
            OSError: A file can't be read, or the new log file can't be opened.
        """
        error = ""
        changes: Sequence[Change] = ()
        try:
            changes = await self._reload_files()
        except (FrameworkError, OSError) as problem:
            error = str(problem)
            raise
        finally:
            self.last_reload = self.last_reload.next(error, changes)
            self.changed.set()
        return changes

    async def _reload_files(self) -> Sequence[Change]:
        if self.read_again is None:
            raise ReloadImpossible(
                "can only reload config when a file is provided using -c or --config"
            )
        if not self.is_ready:
            raise ReloadImpossible("the server is not ready")
        async with self._reloading:
            return await self.reload(self.read_again())

    async def reload(self, config: ServerConfig) -> Sequence[Change]:
        """Put another configuration in force, or nothing of it, and return what has changed.

        When it returns, no client can do any more what it may not, and no message is under way
        that is older.

        Raises:
            ReloadRefused: Something changed that needs a restart; it is named.
            TopologyErrors: A plugin can't follow it.
            OSError: The new log file can't be opened.
        """
        assembly, diff = self._running(), diff_configs(self._config, config)
        fresh = settings_from_config(config)
        errors = self._plugins.check_reload(assembly.context, diff)
        refuse_if_any(diff, [*errors, *assembly.tls_problems(config, fresh)])
        self._logs.configure(fresh.logs)
        assembly.reload(config, fresh)
        self._config = config
        self.settings = replace(fresh, name=self.settings.name)
        log_changes(self.log, config, diff.live)
        self._plugins.reloaded(assembly.context, diff)
        await assembly.follow_logins()
        await assembly.follow_policies()
        self._warn_of_inert({change.path for change in diff.live})
        self.log.info("Reloaded server configuration ({detail})", detail=config.digest)
        return diff.live

    def _running(self) -> Assembly:
        assert self._assembly is not None
        return self._assembly

    def _fail(self, error: BaseException) -> None:
        """Stop, because a component has given up."""
        text = str(error) if isinstance(error, PluginError) else repr(error)
        self.log.critical("A component failed for good: {error}", error=text)
        task = asyncio.get_running_loop().create_task(self.stop(StopReason.FAILED))
        task.add_done_callback(lambda it: it.exception() if not it.cancelled() else None)

    def _warn_of_inert(self, paths: Collection[str] | None = None) -> None:
        """Name the options that are set and change nothing; None: look at all."""
        for path, why in inert_settings(self._config):
            if paths is None or path in paths:
                self.log.warning(
                    "{option} has no effect in this version: {detail}", option=path, detail=why
                )

    def _log_beginning(self) -> None:
        from framework import __version__  # noqa: PLC0415 - the package is not complete before

        info = self.log.info
        info("Starting nats-server")
        info("  Version:  {detail}", detail=NATS_VERSION)
        info("  Product:  framework {detail}", detail=__version__)
        cluster = self._running().context.cluster_name
        if cluster:
            info("  Cluster:  {detail}", detail=cluster)
        info("  Name:     {server}", server=self.identity.name)
        info("  ID:       {detail}", detail=self.identity.server_id)
        if absent := self._plugins.absent:
            self.log.warning(
                "Not installed: {detail}; pip install 'framework[standard]' brings them",
                detail=" and ".join(f"plugin {name}" for name in absent),
            )
        if self._config.file:
            info(
                "Using configuration file: {path} ({detail})",
                path=self._config.file,
                detail=self._config.digest,
            )
        for plugin in self._plugins.plugins:
            self.log.debug(
                "Using plugin {plugin} from {path}", plugin=plugin.name, path=plugin.origin
            )

    def _log_tls(self) -> None:
        """Say whether clients need TLS.

        Source: nats-server `server.go`, `AcceptLoop`.
        """
        tls = self.settings.tls
        if tls is None:
            return
        word = "available" if tls.is_optional else "required"
        self.log.info("TLS {detail} for client connections", detail=word)
        if tls.handshake_first and not tls.fallback_s:
            self.log.warning(
                'Clients that are not using "TLS Handshake First" option will fail to connect'
            )

    def _log_ready(self) -> None:
        assembly, info = self._running(), self.log.info
        if assembly.listeners.http_socket:
            scheme = "https" if self.settings.https else "http"
            address = assembly.listeners.http_socket.address
            info("Starting {scheme} monitor on {address}", scheme=scheme, address=address)
        for it in assembly.listeners.all:
            if it.transport:
                self._log_transport(it.transport, it.bound.address)
            elif it.kind is LinkKind.CLIENT:
                info("Listening for client connections on {address}", address=it.bound.address)
                self._log_tls()
        info("Server is ready")
        if assembly.context.cluster_name:
            info("Cluster name is {detail}", detail=assembly.context.cluster_name)
        for it in assembly.listeners.all:
            if it.kind is not LinkKind.CLIENT:
                info(
                    "Listening for {kind} connections on {address}",
                    kind=it.kind.names.noun,
                    address=it.bound.address,
                )

    def _log_transport(self, transport: TransportSpec, address: str) -> None:
        """Source: nats-server `websocket.go`, `startWebsocketServer`."""
        self.log.info(
            "Listening for {detail} on {scheme}://{address}",
            detail=transport.title or f"{transport.name} clients",
            scheme=transport.url_scheme,
            address=address,
        )


async def _answer(endpoint: MonitorEndpoint) -> object:
    try:
        return await endpoint.answer(endpoint.options())
    except Exception as error:  # noqa: BLE001 - what a plugin can't say keeps no other from it
        return {"error": str(error) if isinstance(error, PluginError) else repr(error)}
