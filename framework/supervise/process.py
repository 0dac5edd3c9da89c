"""Launch a server process; read its status lines and its exit."""

from __future__ import annotations

import signal
import socket
import subprocess
import threading
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct
from typing_extensions import override

from framework.signals import HELD_SIGNALS
from framework.supervise.limits import STATUS_UNREAD_BYTES_MAX
from framework.supervise.report import LineSplitter

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Sequence

    from framework.supervise.logs import Logs, ServerLog


class ServerCommand(Struct, frozen=True):
    """How to launch one server.

    Its process gets `--status-fd N` as last arguments: its end of a channel, on which it writes
    one status line a second, and whose end tells it that the supervisor is gone. Before them stands
    `--stderr-file PATH` when its log is a file, which it opens anew at SIGUSR1.
    """

    name: str
    arguments: tuple[str, ...]
    """The program and its arguments."""
    start_deadline_s: float | None = None
    """From launch to ready; None: that of the policy."""


class Listener(Protocol):
    """Who is told of a process, in the loop's thread; `receive_exit` comes last."""

    def receive_lines(self, lines: Sequence[bytes]) -> None:
        """Take status lines."""
        ...

    def receive_exit(self, status: int, last_line: str) -> None:
        """Take the exit status, or minus the signal, and the last line of the log."""
        ...


class Process(Protocol):
    """A process that was launched, as its owner sees it."""

    pid: int

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal; does nothing once the process is gone."""
        ...


class Launcher(Protocol):
    """Starts processes; the simulator has its own."""

    def launch(self, command: ServerCommand, listener: Listener) -> Process:
        """Start `command`.

        Raises:
            OSError: There is no such program, or no room for another process.
        """
        ...


class ProcessLauncher:
    """Starts real processes, each in a session of its own.

    Ctrl-C in a terminal reaches a whole process group: the servers are not in ours, so it is the
    supervisor that decides in which order and how kindly they end.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, logs: Logs) -> None:
        self._loop = loop
        self._logs = logs

    def launch(self, command: ServerCommand, listener: Listener) -> Process:
        """Start `command`; see `Launcher`."""
        log = self._logs.open(command.name)
        ours, theirs = socket.socketpair()
        # What is sent before the server listens to signals waits for it instead of ending it.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, HELD_SIGNALS)
        try:
            popen = subprocess.Popen(  # noqa: S603 -- the command is our own
                (*command.arguments, *log.words, "--status-fd", str(theirs.fileno())),
                stdin=subprocess.DEVNULL,
                stdout=log.fd,
                stderr=log.fd,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        except BaseException:
            ours.close()
            log.handed_over()
            log.finish()
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            theirs.close()
        log.handed_over()
        return _Child(popen, ours, log, listener, self._loop)


class _Child(Process):
    def __init__(
        self,
        popen: subprocess.Popen[bytes],
        channel: socket.socket,
        log: ServerLog,
        listener: Listener,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self.pid = popen.pid
        self._popen = popen
        self._channel = channel
        self._log = log
        self._listener = listener
        self._loop = loop
        self._splitter = LineSplitter()
        channel.settimeout(0)
        loop.add_reader(channel, self._read)
        # One thread a server that sleeps in waitpid: works on every Unix, and needs no SIGCHLD.
        threading.Thread(target=self._wait, name=f"wait-{self.pid}", daemon=True).start()

    @override
    def send_signal(self, number: signal.Signals) -> None:
        self._popen.send_signal(number)

    def _wait(self) -> None:
        status = self._popen.wait()
        try:
            self._loop.call_soon_threadsafe(self._exited, status)
        except RuntimeError:  # the loop has closed: nobody wants to know
            self._channel.close()

    def _read(self) -> bool:
        try:
            data = self._channel.recv(STATUS_UNREAD_BYTES_MAX)
        except BlockingIOError:
            return False
        except ConnectionError:
            data = b""
        if not data:
            self._loop.remove_reader(self._channel)
            return False
        lines = self._splitter.feed(data)
        if lines:
            self._listener.receive_lines(lines)
        return True

    def _exited(self, status: int) -> None:
        self._read()
        self._loop.remove_reader(self._channel)
        self._channel.close()
        self._listener.receive_exit(status, self._log.finish())


def exit_text(status: int) -> str:
    """Return how a process ended, in words; `status` as `Listener.receive_exit` has it."""
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"killed by signal {-status}"
