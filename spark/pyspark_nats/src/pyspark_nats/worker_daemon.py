"""PySpark's daemon, whose workers end when their session has.

A worker that waits for its next task reads the end of its socket then. PySpark takes that for a
task that fails (4.3), and shows that nobody can be told: `BrokenPipeError`, where its socket is of
the Unix domain.
"""

from __future__ import annotations

import socket
from typing import Final

from pyspark import daemon

ENDED: Final = 1
"""Of a worker that is not used again."""
_work = daemon.worker


def work(sock: socket.socket, authenticated: bool) -> int:  # noqa: FBT001 - as PySpark has it
    """Do the next task as PySpark does, if one comes."""
    return _work(sock, authenticated) if _has_task(sock) else ENDED


def _has_task(sock: socket.socket) -> bool:
    try:
        return bool(sock.recv(1, socket.MSG_PEEK))
    except OSError:
        return False


if __name__ == "__main__":
    daemon.worker = work
    daemon.manager()
