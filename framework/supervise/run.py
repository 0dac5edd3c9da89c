"""Run the servers of a topology under supervision, until told to stop."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import tempfile
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, TextIO

from framework.actors import ActorSystem, AsyncioDispatcher, Supervision
from framework.signals import release_signals
from framework.supervise.control import ControlSocket
from framework.supervise.logs import LogFolder, LogPrefixer, Logs
from framework.supervise.machine import RestartPolicy
from framework.supervise.process import ProcessLauncher, ServerCommand
from framework.supervise.request import Verb
from framework.supervise.status import PlainStatus, Status
from framework.supervise.supervisor import Supervisor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from framework.actors import ActorRef
    from framework.spec.status import StatusSection
    from framework.supervise.control import Question
    from framework.supervise.request import Answer

STDIN_FD = 0

_log = logging.getLogger(__name__)  # noqa: TID251 - rich comes with structlog, and takes 80 ms

SYSTEM_STOP_DEADLINE_S = 5.0
"""The servers are gone by then; only our own actors are left."""

FAIL_WITH_IT = Supervision(restarts_max=0)
"""A supervisor that is started again would know nothing of the servers that run."""

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
REQUEST_SIGNALS = {
    signal.SIGHUP: Verb.RELOAD,
    signal.SIGUSR1: Verb.REOPEN,
    signal.SIGUSR2: Verb.DRAIN,
}
"""What nats-server does at them, all servers do."""


def run_servers(
    commands: Sequence[ServerCommand],
    *,
    title: str,
    file: str,
    log_folder: Path | None,
    stdout: IO[str],
    stderr: TextIO,
    sections: Sequence[StatusSection] = (),
    policy: RestartPolicy | None = None,
) -> int:
    """Supervise servers until a signal stops them or they cannot be started.

    INT and TERM stop them all; HUP reloads them, USR1 reopens their logs and USR2 drains them, as
    with one nats-server. Commands ask for the same on the control socket.

    In a terminal a table shows how they stand and their logs go to files; otherwise changes are
    lines on `stdout` and the logs, unless they have a folder, prefixed lines on `stderr`.

    Args:
        commands: At least one server; names unique.
        title: Shown above the table.
        file: The topology, by which commands find this process.
        log_folder: Of the log files; made when need be. None: that of the user, in a terminal.
        stdout: Where the status goes.
        stderr: Where the logs go, unless there is a terminal, and what a bug leaves behind.
        sections: What plugins show of the servers.
        policy: Waits and limits of restarts.

    Returns:
        An exit status: 0 when stopped by one signal, 1 when the servers could not be run.

    Raises:
        Exception: What an actor of ours raised, which is a bug; the servers are killed.
    """
    logging.basicConfig(stream=stderr, format="%(message)s")  # our own actors' bugs
    policy = policy or RestartPolicy()
    surface = partial(
        _surface, commands, title, log_folder, stdout=stdout, stderr=stderr, sections=sections
    )
    return asyncio.run(_supervise(commands, policy, surface, file, sections))


def is_terminal(stream: IO[str]) -> bool:
    """Return whether a table can be drawn on `stream`."""
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def _surface(
    commands: Sequence[ServerCommand],
    title: str,
    log_folder: Path | None,
    *,
    stdout: IO[str],
    stderr: IO[str],
    sections: Sequence[StatusSection],
) -> tuple[Logs, Status]:
    if is_terminal(stdout):
        from framework.supervise.live_status import LiveStatus  # noqa: PLC0415 -- rich takes 80 ms

        log_folder = log_folder or default_log_folder(title)
        return LogFolder(log_folder), LiveStatus(title, log_folder, stdout, sections)
    if log_folder is not None:
        return LogFolder(log_folder), PlainStatus(stdout, sections)
    width = max(len(command.name) for command in commands)
    logs = LogPrefixer(asyncio.get_running_loop(), stderr, width)
    return logs, PlainStatus(stdout, sections)


async def _supervise(
    commands: Sequence[ServerCommand],
    policy: RestartPolicy,
    surface: Callable[[], tuple[Logs, Status]],
    file: str,
    sections: Sequence[StatusSection],
) -> int:
    loop = asyncio.get_running_loop()
    finished: asyncio.Future[int] = loop.create_future()
    dispatcher = AsyncioDispatcher(loop)
    refs: list[ActorRef[Supervisor]] = []

    def tell(message: object) -> None:
        for ref in refs:
            ref.tell(message)

    def ask(question: Question, answer: Callable[[Answer], None], done: Callable[[], None]) -> None:
        tell(Supervisor.Request(question.verb, answer, question.server, done))

    def finish(exit_status: int) -> None:
        if not finished.done():
            finished.set_result(exit_status)

    def fail(error: BaseException) -> None:
        if not finished.done():
            finished.set_exception(error.__cause__ or error)

    system = ActorSystem(dispatcher, name="supervise", on_failure=fail)
    _install_signals(loop, tell)
    logs, status = surface()
    control = ControlSocket(file, ask)
    try:
        supervisor = system.spawn(
            Supervisor,
            commands=commands,
            launcher=ProcessLauncher(loop, logs),
            policy=policy,
            status=status,
            finished=finish,
            sections=sections,
            name="supervisor",
            supervision=FAIL_WITH_IT,
        )
        refs.append(supervisor)
        try:
            await control.open()
        except OSError as error:
            _log.warning("Commands can't reach this run: %s", error)
        return await finished
    finally:
        await control.close()
        await system.stop(SYSTEM_STOP_DEADLINE_S)
        dispatcher.close()
        status.close()


def _install_signals(loop: asyncio.AbstractEventLoop, tell: Callable[[object], None]) -> None:
    terminals = [fd for fd in range(3) if os.isatty(fd)]
    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, tell, Supervisor.Interrupt())

    def ask(verb: Verb) -> None:
        if verb is Verb.RELOAD and STDIN_FD in terminals and not os.isatty(STDIN_FD):
            # The terminal was closed: that is what HUP tells then.
            _leave_terminal(terminals)
            tell(Supervisor.Interrupt())
        else:
            tell(Supervisor.Request(verb, answer=lambda _: None))

    for number, verb in REQUEST_SIGNALS.items():
        loop.add_signal_handler(number, ask, verb)
    release_signals()


def _leave_terminal(fds: Sequence[int]) -> None:
    """Let what is still shown go nowhere: Python would end with 120 for what it can't write."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for fd in fds:
        os.dup2(nowhere, fd)
    os.close(nowhere)


def default_log_folder(topology: str) -> Path:
    """Return where the logs of a topology go: below the user's folder for such things.

    Source: XDG Base Directory Specification, `XDG_STATE_HOME`.
    """
    state = os.environ.get("XDG_STATE_HOME", "")
    folder = Path(state) if Path(state).is_absolute() else _home() / ".local" / "state"
    return folder / "framework" / topology.replace("/", "_")


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:  # a user without a name, as some containers have
        return Path(tempfile.gettempdir())
