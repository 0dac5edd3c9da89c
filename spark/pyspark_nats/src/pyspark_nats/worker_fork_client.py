"""Asks `worker_fork_server` for a copy that runs a module, and is there as long as it is.

    python -I -S worker_fork_client.py SOCKET MODULE [WORD ...]

Where nobody answers, this process runs it itself: `python -m MODULE WORD ...`. It is started by its
file, and imports little: it is there to be quick.
"""

import marshal
import os
import socket
import sys

LOST = 1
"""The exit status where the server has gone."""


def main() -> None:
    """Ask, and end as the copy has."""
    path, module, *words = sys.argv[1:]
    exit_status = _asked(path, module, words)
    if exit_status is None:
        os.execv(sys.executable, [sys.executable, "-m", module, *words])  # noqa: S606 - as asked
    os._exit(exit_status)  # there is no standard output to be flushed


def _asked(path: str, module: str, words: list[str]) -> int | None:
    """Return how the copy has ended; None: there was none."""
    # `pathlib` would take as long as all the rest.
    body = marshal.dumps((os.getcwd(), module, words, dict(os.environb)))  # noqa: PTH109
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(path)
            socket.send_fds(connection, [len(body).to_bytes(4, "little")], [0, 1, 2])
            connection.sendall(body)
            if not connection.recv(1):
                return None
        except OSError:
            return None
        for fd in (0, 1, 2):
            os.close(fd)  # or the end of an input would not be seen, nor that of an output
        try:
            return (connection.recv(1) or bytes([LOST]))[0]
        except OSError:
            return LOST


if __name__ == "__main__":
    main()
