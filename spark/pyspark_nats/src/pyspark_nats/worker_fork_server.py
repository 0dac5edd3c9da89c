"""Forks the daemons of Spark's workers, with what they need imported once.

    python -m pyspark_nats.worker_fork_server SOCKET

Spark starts a daemon for each kind of worker, and a first query needs four kinds, one after the
other; each is a new Python that imports PySpark, and most of them pyarrow. Here that is done once,
while Java starts; `worker_fork_client`, which Spark starts in place of a daemon, hands over what it
was given, and a copy of this process goes on with it as that daemon. It ends with the process that
has started it.
"""

from __future__ import annotations

import gc
import marshal
import os
import select
import signal
import socket
import struct
import sys
import traceback
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyspark_nats import worker_daemon

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Request = tuple[str, list[str], Mapping[bytes, bytes]]

MODULES: Final = (
    "pyarrow.compute",
    "pyspark.worker",
    "pyspark.sql.worker.create_data_source",
    "pyspark.sql.worker.lookup_data_sources",
    "pyspark.sql.worker.plan_data_source_read",
    "pyspark_nats.reader",
    "pyspark_nats.source",
)
"""What is not there, or called otherwise, a worker imports itself when it needs it."""
DEADLINE_S: Final = 10.0
"""For one request: who asks has all of it ready."""
_STANDARD_FDS: Final = 3


def main() -> None:
    """Listen, import, and fork for who asks until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # as Java and all that it starts
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody is waited for
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(sys.argv[1])
        listener.listen()  # before imports: to wait for them takes no longer than to do them
        for name in MODULES:
            with suppress(ImportError):
                import_module(name)
        os.register_at_fork(after_in_child=_seed_numpy)
        gc.collect()
        gc.freeze()  # or each copy has a page of its own of whatever a collection looks at
        while 0 not in select.select([0, listener.fileno()], [], [])[0]:
            connection, _ = listener.accept()
            with connection, suppress(OSError, EOFError, ValueError):
                connection.settimeout(DEADLINE_S)
                fds, request = _receive(connection)
                _fork(listener, connection, fds, request)
                for fd in fds:
                    os.close(fd)


def _receive(connection: socket.socket) -> tuple[list[int], Request]:
    """Return standard input, output and error, and the folder, words and variables."""
    head, fds, _, _ = socket.recv_fds(connection, 4, _STANDARD_FDS)
    (length,) = struct.unpack("<I", head)
    with connection.makefile("rb") as stream:
        return fds, marshal.loads(stream.read(length))  # noqa: S302 - of this user's own


def _fork(
    listener: socket.socket,
    connection: socket.socket,
    fds: Sequence[int],
    request: Request,
) -> None:
    if os.fork():
        return
    exit_status = 1
    try:
        listener.close()
        connection.sendall(b"\0")  # it stays open as long as the daemon is there
        for number, fd in enumerate(fds):
            os.dup2(fd, number)
            os.close(fd)
        _become(*request)
        worker_daemon.main()
    except SystemExit as ended:
        exit_status = ended.code if isinstance(ended.code, int) else 1
    except BaseException:  # noqa: BLE001 - what Python does where nobody catches it
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(exit_status)


def _become(folder: str, words: list[str], environ: Mapping[bytes, bytes]) -> None:
    """Be as a new Python would that is started there with these words and variables."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.chdir(folder)
    rest = sys.path[len(_first_of_path(os.environb)) :]
    os.environb.clear()
    os.environb.update(environ)
    sys.path[:] = [*_first_of_path(environ), *rest]
    sys.argv[1:] = words


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
