"""Sockets of the Unix domain between Java and its workers, in a folder that is this user's alone.

They take a tenth off the time of Java's tasks. Spark asks for no secret there: whoever may open the
file is let in (4.3). Beside them is the socket of what forks the workers' daemons.
"""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import socket
import subprocess
import sys
import tempfile

from pyspark_nats.worker_python import FORK_SOCKET

PATH_BYTES_MAX = 100
"""Of the address of a socket: 104 or 108 with its last zero (`unix(7)`)."""
_PREFIX = "pyspark_nats-"
_PLACE = f"/{_PREFIX}01234567/.01234567-89ab-cdef-0123-456789abcdef.sock"
"""As long as what is behind the folder of temporary files."""


def socket_settings() -> dict[str, str]:
    """Return what Spark is told so that it has such sockets; nothing where there are none."""
    folder = _folder()
    if not folder:
        return {}
    return {
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.unix.domain.socket.dir": folder,
    }


@functools.cache
def start_fork_server() -> None:
    """Start what forks the workers' daemons, once; it ends with this process, by its input.

    It has the variables that Spark's launcher and Spark give to workers, which a Python reads when
    it starts; they are left as they are where somebody has set them.
    """
    folder = _folder()
    if not folder:
        return
    os.environ[FORK_SOCKET] = f"{folder}/forks"
    words = [sys.executable, "-m", "pyspark_nats.worker_fork_server", os.environ[FORK_SOCKET]]
    environ = {"OMP_NUM_THREADS": "1", **os.environ, "PYTHONHASHSEED": "0"}
    process = subprocess.Popen(words, stdin=subprocess.PIPE, env=environ)  # noqa: S603 - this Python
    atexit.register(process.communicate)


def remove_sockets() -> None:
    """Remove the folder, in a process that ends at once."""
    if _folder.cache_info().currsize:
        shutil.rmtree(_folder(), ignore_errors=True)


@functools.cache
def _folder() -> str:
    """Return a folder until this process ends; empty: there are none, or its name is too long."""
    longest = os.fsencode(tempfile.gettempdir() + _PLACE)
    if not hasattr(socket, "AF_UNIX") or len(longest) > PATH_BYTES_MAX:
        return ""
    folder = tempfile.mkdtemp(prefix=_PREFIX)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
