"""Forks what Spark starts of PySpark, with what that needs imported once.

    python -m pyspark_nats.worker_fork_server SOCKET

Spark starts a daemon for each kind of worker, and other modules of PySpark for streams. A first
query needs four daemons, one after the other; each is a new Python that imports PySpark, and most
of them pyarrow. Here that is done once, while Java starts; `worker_fork_client`, which Spark starts
in their place, hands over what it was given, and a copy of this process goes on with it. The copy
gets a SIGTERM when the client is gone, and the client is told when the copy has ended. This process
ends with the one that has started it.
"""

from __future__ import annotations

import gc
import marshal
import os
import runpy
import select
import signal
import socket
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

MODULES: Final = (
    "pyarrow.compute",
    "pyspark.daemon",
    "pyspark.sql.streaming.python_streaming_source_runner",
    "pyspark.sql.worker.commit_data_source_write",
    "pyspark.sql.worker.create_data_source",
    "pyspark.sql.worker.data_source_pushdown_filters",
    "pyspark.sql.worker.lookup_data_sources",
    "pyspark.sql.worker.plan_data_source_read",
    "pyspark.sql.worker.python_streaming_sink_runner",
    "pyspark.sql.worker.write_into_data_source",
    "pyspark.worker",
    "pyspark_nats.reader",
    "pyspark_nats.source",
    "pyspark_nats.stream_reader",
    "pyspark_nats.writer",
)
"""What is not there, or called otherwise, is imported by who needs it."""
DEADLINE_S: Final = 10.0
"""For one request: who asks has all of it ready."""
TAKEN: Final = b"\0"
SIGNALLED: Final = 128
"""And the number of a signal: the exit status of who was ended by it, as a shell says it."""
_INPUT: Final = 0
_STANDARD_FDS: Final = 3


class Request(NamedTuple):
    """What a Python is started with."""

    folder: str
    module: str
    words: list[str]
    environ: Mapping[bytes, bytes]


class ForkServer:
    """Has a copy for each request.

    Args:
        listener: Where requests come.
    """

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._clients: dict[int, socket.socket] = {}  # by the process of their copy
        self._ended, self._told = os.pipe()
        os.set_blocking(self._told, False)
        signal.set_wakeup_fd(self._told, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def run(self) -> Request | None:
        """Serve until standard input ends; in a copy, return what it is to do."""
        while True:
            waits: list[Any] = [_INPUT, self._listener, self._ended, *self._clients.values()]
            ready = select.select(waits, [], [])[0]
            if _INPUT in ready:
                return None
            if self._ended in ready:
                os.read(self._ended, 4096)
                self._hear_of_ends()
            for pid, client in [*self._clients.items()]:
                if client in ready:
                    os.kill(pid, signal.SIGTERM)
                    self._clients.pop(pid).close()
            if self._listener in ready and (request := self._accept()):
                return request

    def _accept(self) -> Request | None:
        """Take a request; return it in the copy alone."""
        client, _ = self._listener.accept()
        try:
            client.settimeout(DEADLINE_S)
            fds, request = _receive(client)
        except (OSError, EOFError, TypeError, ValueError):
            client.close()
            return None
        pid = os.fork()
        if not pid:
            self._leave(client)
            for number, fd in enumerate(fds):
                os.dup2(fd, number)
        for fd in fds:
            os.close(fd)
        if not pid:
            return request
        self._clients[pid] = client
        with suppress(OSError):
            client.sendall(TAKEN)
        return None

    def _hear_of_ends(self) -> None:
        """Tell clients how their copies have ended."""
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                client = self._clients.pop(ended[0], None)
                if client is not None:
                    with client, suppress(OSError):
                        code = os.waitstatus_to_exitcode(ended[1])
                        client.sendall(bytes([code if code >= 0 else SIGNALLED - code]))

    def _leave(self, client: socket.socket) -> None:
        """Let go, in a copy, what is the server's."""
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        for fd in (self._ended, self._told):
            os.close(fd)
        for each in (client, *self._clients.values()):
            each.close()


def main() -> None:
    """Listen, import, and fork; or be a copy."""
    # What a terminal tells is for who has started this.
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(sys.argv[1])
        listener.listen()  # before imports: to wait for them takes no longer than to do them
        for name in MODULES:
            with suppress(ImportError):
                import_module(name)
        os.register_at_fork(after_in_child=_seed_numpy)
        gc.collect()
        gc.freeze()  # or each copy has a page of its own of whatever a collection looks at
        request = ForkServer(listener).run()
    if request is not None:
        _become(request)


def _receive(client: socket.socket) -> tuple[list[int], Request]:
    """Return standard input, output and error, and the rest."""
    head, fds, _, _ = socket.recv_fds(client, 4, _STANDARD_FDS)
    try:
        with client.makefile("rb") as stream:
            body = stream.read(int.from_bytes(head, "little"))
        return fds, Request(*marshal.loads(body))  # noqa: S302 - of this user's own
    except Exception:
        for fd in fds:
            os.close(fd)
        raise


def _become(request: Request) -> None:
    """Do what a new Python does that is started there with these words and variables."""
    os.chdir(request.folder)
    rest = sys.path[len(_first_of_path(os.environb)) :]
    os.environb.clear()
    os.environb.update(request.environ)
    sys.path[:] = [*_first_of_path(request.environ), *rest]
    sys.argv[1:] = request.words
    sys.modules.pop(request.module, None)
    runpy.run_module(request.module, run_name="__main__", alter_sys=True)


def _first_of_path(environ: Mapping[bytes, bytes]) -> list[str]:
    """Return what `python -m` has first in `sys.path`."""
    path = os.fsdecode(environ.get(b"PYTHONPATH", b""))
    here = [] if sys.flags.safe_path else [str(Path.cwd())]
    return [*here, *(path.split(os.pathsep) if path else ())]


def _seed_numpy() -> None:
    """Give a copy random numbers of its own, as it would have had it imported NumPy itself."""
    random = sys.modules.get("numpy.random")
    if random is not None:
        random.seed()


if __name__ == "__main__":
    main()
