"""Run one server as a process: signals, status lines, exit code."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from typing_extensions import override

from framework.dataplane import Plane
from framework.errors import FrameworkError
from framework.process_end import ends_at_once
from framework.server.descriptors import prepare_descriptors
from framework.server.logging.logs import Logs
from framework.server.server import Server
from framework.server.service_manager import READY, STOPPING, NotifyError, notify, reloading
from framework.server.settings import log_settings_from_config
from framework.signals import SignalActions, default_signals, release_signals
from framework.spec import StopReason

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence
    from pathlib import Path

    from framework.dataplane.kinds import KindTraits
    from framework.dataplane.limits import PlaneLimits
    from framework.dataplane.link import LinkKind
    from framework.dataplane.reserved import ReservedPrefix
    from framework.plugins import PluginRegistry
    from framework.server.status import StatusWriter
    from framework.topology import ServerConfig

EXIT_OK: Final = 0
EXIT_FAILED: Final = 1

_COLLECT_ABOVE: Final = 10_000
"""Objects that may have come since the last collection; looking at them takes less than 1 ms. By
Python's own 700, a fifth of the time in which streams are made goes to collections."""


def run_server(
    config: ServerConfig,
    plugins: PluginRegistry,
    status_fd: int | None = None,
    *,
    stderr_file: Path | None = None,
    read_again: Callable[[], ServerConfig] | None = None,
) -> int:
    """Run one server until it is told to stop, and return the exit code of the process.

    TERM, INT and QUIT stop it, USR1 reopens the log, USR2 begins lame duck mode, and HUP reloads.
    What comes before the start is over is done after it.
    As with nats-server, TERM does not cut lame duck mode short, unless there is a `status_fd`.

    Args:
        config: What it is told.
        plugins: What it is made of besides the core.
        status_fd: Where one line of JSON a second goes; None: nowhere.
        stderr_file: What standard error leads to, to be opened anew at USR1; None: no file.
        read_again: Reads the configuration anew, for a reload; None: it can't be.
    """
    try:
        logs = Logs(log_settings_from_config(config))
    except OSError as error:
        sys.stderr.write(f"nats-server: can't write the log: {error}; choose another logfile\n")
        return EXIT_FAILED
    logs.carry_global_loggers()
    prepare_descriptors()
    try:
        run = _Run(
            config,
            plugins,
            logs,
            status_fd=status_fd,
            stderr_file=stderr_file,
            read_again=read_again,
        )
        exit_status = asyncio.run(run.run())
        if not ends_at_once():
            run.close_sockets()
            default_signals()  # what it waits for may hang
        if run.was_ready:  # whoever reads this finds the process gone
            logs.log.info("Server Exiting..")
        return exit_status
    finally:
        logs.close()


class _ProcessPlane(Plane):
    """A data plane that leaves sockets of clients to the kernel, which closes them last.

    So who hears that the connection has ended finds its server gone, not still going: the kernel
    takes some milliseconds to free the memory of a process.
    """

    kept_sockets: Sequence[int] = ()

    @override
    def stop(self, deadline_s: float, *, keep_sockets: bool = True) -> list[int]:
        self.kept_sockets = kept = super().stop(deadline_s, keep_sockets=keep_sockets)
        return kept


class _Run:
    """The life of one server in its process."""

    def __init__(
        self,
        config: ServerConfig,
        plugins: PluginRegistry,
        logs: Logs,
        *,
        status_fd: int | None,
        stderr_file: Path | None,
        read_again: Callable[[], ServerConfig] | None,
    ) -> None:
        self._logs = logs
        self._log = logs.log
        self._status_fd = status_fd
        self._stderr_file = stderr_file
        self._read_again = read_again
        self._tasks: set[asyncio.Task[object]] = set()
        self._started = asyncio.Event()
        self._config, self._plugins = config, plugins
        self._server: Server | None = None
        self._plane: _ProcessPlane | None = None

    @property
    def was_ready(self) -> bool:
        """Whether the start was done."""
        return self._started.is_set()

    async def run(self) -> int:
        """Start, wait for the end, and return the exit code."""
        loop = asyncio.get_running_loop()
        stopping = asyncio.Event()
        server = self._server = Server(
            self._config, self._plugins, logs=self._logs, make_plane=self._make_plane
        )
        server.read_again = self._read_again
        loop.set_exception_handler(self._report_error)
        with closing(self._install_signals(loop, stopping)):
            try:
                await server.start()
            except (FrameworkError, OSError) as error:
                self._log.critical("{error}", error=str(error))
                return EXIT_FAILED
            return await self._serve(server, stopping)

    async def _serve(self, server: Server, stopping: asyncio.Event) -> int:
        """Let a server that has started run to its end."""
        status = _status_writer(self._status_fd, server) if self._status_fd is not None else None
        self._started.set()
        self._logs.carry_global_loggers()  # of what plugins have imported since
        gc.enable()
        gc.set_threshold(_COLLECT_ABOVE)
        gc.freeze()  # what the start has made stays: nothing of it is looked at again
        self._notify(READY)
        if status:
            status.start()
        self._spawn(self._stop_when(stopping, server))
        reason = await server.wait_stopped()
        if status:
            status.stop()
        for task in self._tasks:
            task.cancel()
        return EXIT_OK if reason is StopReason.ASKED else EXIT_FAILED

    def close_sockets(self) -> None:
        """Close what the kernel would close, in a process that does not end at once."""
        for socket_fd in self._plane.kept_sockets if self._plane else ():
            os.close(socket_fd)

    def _make_plane(
        self,
        limits: PlaneLimits,
        *,
        kinds: Mapping[LinkKind, KindTraits],
        reserved: Sequence[ReservedPrefix],
    ) -> _ProcessPlane:
        self._plane = _ProcessPlane(limits, kinds=kinds, reserved=reserved)
        return self._plane

    def _report_error(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log what was raised in a task or a callback that nobody waits for."""
        error = context.get("exception")
        blamed = self._plugins.blame_code(error) if error else None
        if blamed is None:
            loop.default_exception_handler(context)
            return
        text = "Plugin {plugin} failed in a task ({path})"
        self._log.error(text, plugin=blamed.plugin, path=blamed.origin, exc_info=error)

    async def _stop_when(self, stopping: asyncio.Event, server: Server) -> None:
        await stopping.wait()
        self._notify(STOPPING)
        await server.stop()

    def _install_signals(
        self, loop: asyncio.AbstractEventLoop, stopping: asyncio.Event
    ) -> SignalActions:
        actions: dict[signal.Signals, Callable[[], None]] = {
            signal.SIGINT: stopping.set,
            signal.SIGQUIT: stopping.set,
            signal.SIGTERM: lambda: self._terminate(stopping),
            signal.SIGUSR1: self._reopen_log,
            signal.SIGUSR2: self._begin_lame_duck,
            signal.SIGHUP: self._reload,
        }
        signals = SignalActions(
            loop, {number: partial(self._handle, number, actions[number]) for number in actions}
        )
        release_signals()
        return signals

    def _handle(self, number: signal.Signals, action: Callable[[], None]) -> None:
        text = (signal.strsignal(number) or number.name).lower()
        self._log.info('Trapped "{detail}" signal', detail=text)
        action()

    def _terminate(self, stopping: asyncio.Event) -> None:
        # Kubernetes sends TERM after its hook has begun lame duck mode, which has to end by itself.
        # A supervisor kills who does not stop in time, so for it TERM means what it says.
        is_supervised = self._status_fd is not None
        if is_supervised or not (self._server and self._server.is_lame_duck):
            stopping.set()

    def _reopen_log(self) -> None:
        try:
            is_file = self._logs.reopen() or self._reopen_stderr()
        except OSError as error:
            self._log.error("Log file can't be reopened", error=str(error))
        else:
            outcome = "re-opened" if is_file else "re-open ignored, not a file logger"
            self._log.info("File log {detail}", detail=outcome)

    def _reopen_stderr(self) -> bool:
        if self._stderr_file is None:
            return False
        with self._stderr_file.open("ab") as file:
            for standard_fd in (1, 2):
                os.dup2(file.fileno(), standard_fd)
        return True

    def _begin_lame_duck(self) -> None:
        if self._server:
            self._spawn(self._leave(self._server))

    async def _leave(self, server: Server) -> None:
        await self._started.wait()
        await server.enter_lame_duck()

    def _reload(self) -> None:
        if self._server:
            self._spawn(self._reload_files(self._server))

    async def _reload_files(self, server: Server) -> None:
        await self._started.wait()
        self._notify(reloading())
        try:
            await server.reload_files()
        except (FrameworkError, OSError) as error:
            self._log.error("Failed to reload server configuration: {detail}", detail=str(error))
        self._notify(READY)

    def _notify(self, state: str) -> None:
        """Tell a service manager, unless this is one server of `framework run`."""
        if self._status_fd is not None:
            return
        try:
            notify(state)
        except NotifyError as error:
            self._log.error("{error}", error=str(error))

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _status_writer(status_fd: int, server: Server) -> StatusWriter:
    from framework.server.status import StatusWriter  # noqa: PLC0415 -- under a supervisor

    return StatusWriter(status_fd, server)
