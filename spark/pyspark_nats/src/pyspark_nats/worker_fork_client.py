"""Asks `worker_fork_server` for a daemon, and is there as long as it is.

    python -I -S worker_fork_client.py SOCKET MODULE [WORD ...]

Where nobody answers, this process becomes that daemon itself: `python -m MODULE WORD ...`. It is
started by its file, and imports little: it is there to be quick.
"""

import contextlib
import marshal
import os
import socket
import struct
import sys


def main() -> None:
    """Ask, and wait for the end."""
    path, module, *words = sys.argv[1:]
    if not _is_forked(path, words):
        os.execv(sys.executable, [sys.executable, "-m", module, *words])  # noqa: S606 - as asked


def _is_forked(path: str, words: list[str]) -> bool:
    """Return when the daemon has ended; False: there was none."""
    body = marshal.dumps((os.getcwd(), words, dict(os.environb)))  # noqa: PTH109 - `pathlib` is slow to import
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(path)
            socket.send_fds(connection, [struct.pack("<I", len(body))], [0, 1, 2])
            connection.sendall(body)
            if not connection.recv(1):
                return False
        except OSError:
            return False
        for fd in (0, 1, 2):
            os.close(fd)  # or the end of an input would not be seen, nor that of an output
        with contextlib.suppress(OSError):
            connection.recv(1)
    return True


if __name__ == "__main__":
    main()
