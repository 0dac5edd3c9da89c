"""Run the servers of a topology in this process's care, until told to stop."""

from __future__ import annotations

import asyncio
import os
import signal
from functools import partial
from typing import IO, TYPE_CHECKING, TextIO

from framework.actors import ActorSystem, AsyncioDispatcher, Supervision
from framework.actors.lean_structlog import structlog
from framework.supervise.logs import LogFolder, LogPrefixer, Logs
from framework.supervise.machine import RestartPolicy
from framework.supervise.process import ProcessLauncher, ServerCommand
from framework.supervise.status import PlainStatus, Status
from framework.supervise.supervisor import Supervisor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from framework.actors import ActorRef

SYSTEM_STOP_DEADLINE_S = 5.0
"""The servers are gone by then; only our own actors are left."""

FAIL_WITH_IT = Supervision(restarts_max=0)
"""A supervisor that is started again would know nothing of the servers that run."""

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run_servers(
    commands: Sequence[ServerCommand],
    *,
    title: str,
    log_folder: Path,
    stdout: IO[str],
    stderr: TextIO,
    policy: RestartPolicy | None = None,
) -> int:
    """Supervise servers until a signal stops them or they cannot be started.

    In a terminal a table shows how they stand and their logs go to files; otherwise changes are
    lines on `stdout` and the logs, prefixed, lines on `stderr`.

    Args:
        commands: At least one server; names unique.
        title: Shown above the table.
        log_folder: Of the log files; made when need be.
        stdout: Where the status goes.
        stderr: Where the logs go, unless there is a terminal, and what a bug leaves behind.
        policy: Waits and limits of restarts.

    Returns:
        An exit status: 0 when stopped by one signal, 1 when the servers could not be run.

    Raises:
        Exception: What an actor of ours raised, which is a bug; the servers are killed.
    """
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(stderr))  # our own actors' bugs
    policy = policy or RestartPolicy()
    surface = partial(_surface, commands, title, log_folder, stdout=stdout, stderr=stderr)
    return asyncio.run(_supervise(commands, policy, surface))


def is_terminal(stream: IO[str]) -> bool:
    """Return whether a table can be drawn on `stream`."""
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def _surface(
    commands: Sequence[ServerCommand],
    title: str,
    log_folder: Path,
    *,
    stdout: IO[str],
    stderr: IO[str],
) -> tuple[Logs, Status]:
    if is_terminal(stdout):
        from framework.supervise.live_status import LiveStatus  # noqa: PLC0415 -- rich takes 80 ms

        return LogFolder(log_folder), LiveStatus(title, log_folder, stdout)
    width = max(len(command.name) for command in commands)
    logs = LogPrefixer(asyncio.get_running_loop(), stderr, width)
    return logs, PlainStatus(stdout)


async def _supervise(
    commands: Sequence[ServerCommand],
    policy: RestartPolicy,
    surface: Callable[[], tuple[Logs, Status]],
) -> int:
    loop = asyncio.get_running_loop()
    finished: asyncio.Future[int] = loop.create_future()
    dispatcher = AsyncioDispatcher(loop)
    refs: list[ActorRef[Supervisor]] = []

    def interrupt() -> None:
        for ref in refs:
            ref.tell(Supervisor.Interrupt())

    def finish(exit_status: int) -> None:
        if not finished.done():
            finished.set_result(exit_status)

    def fail(error: BaseException) -> None:
        if not finished.done():
            finished.set_exception(error.__cause__ or error)

    system = ActorSystem(dispatcher, name="supervise", on_failure=fail)
    for number in STOP_SIGNALS:
        is_nohup = number == signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN
        if not is_nohup:
            loop.add_signal_handler(number, interrupt)
    logs, status = surface()
    try:
        supervisor = system.spawn(
            Supervisor,
            commands=commands,
            launcher=ProcessLauncher(loop, logs),
            policy=policy,
            status=status,
            finished=finish,
            name="supervisor",
            supervision=FAIL_WITH_IT,
        )
        refs.append(supervisor)
        return await finished
    finally:
        await system.stop(SYSTEM_STOP_DEADLINE_S)
        dispatcher.close()
        status.close()
