"""File descriptors of a process: as many as it may have, and room for them from the start."""

from __future__ import annotations

import fcntl
import os
import resource
from typing import Final

_RESERVED_MAX: Final = 65_536
"""As many as clients by default; eight bytes of the kernel's memory each."""


def prepare_descriptors() -> int:
    """Raise the soft limit to the hard one, and have the kernel make room for descriptors.

    To be called while the process has one thread. A table of descriptors grows by doubling, and
    in a process with threads the kernel lets the one that needs another descriptor wait until all
    processors have let go of the old table: 8 to 22 ms in which nobody is served, at 256 clients,
    at 512, and so on.

    Returns:
        For how many there is room now; 0: for those that there are.

    Source: Go's `os` package raises the limit in the same way; Linux `fs/file.c`, `expand_fdtable`.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        soft = hard
    except (OSError, ValueError):
        pass  # some systems show a hard limit that they do not grant
    room = _RESERVED_MAX if soft == resource.RLIM_INFINITY else min(_RESERVED_MAX, soft)
    read_end, write_end = os.pipe()
    try:
        os.close(fcntl.fcntl(read_end, fcntl.F_DUPFD_CLOEXEC, room - 1))
    except OSError:
        room = 0  # it grows with its clients, as in any process
    finally:
        os.close(read_end)
        os.close(write_end)
    return room
