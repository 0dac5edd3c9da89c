"""The server processes of a topology: launching, watching, restarting, showing and ending them.

Not here: what a server does, and how a topology is read.
"""

from __future__ import annotations

from framework.supervise.machine import EXIT_REFUSED, RestartPolicy
from framework.supervise.orphan import stop_with_supervisor
from framework.supervise.process import ServerCommand

__all__ = [
    "EXIT_REFUSED",
    "RestartPolicy",
    "ServerCommand",
    "stop_with_supervisor",
]
