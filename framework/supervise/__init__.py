"""The server processes of a topology: launching, watching, restarting, showing and ending them.

Not here: what a server does, and how a topology is read.
"""

from __future__ import annotations

from framework.supervise.machine import EXIT_REFUSED, RestartPolicy
from framework.supervise.orphan import stop_with_supervisor
from framework.supervise.process import ServerCommand
from framework.supervise.run import run_servers

__all__ = [
    "EXIT_REFUSED",
    "RestartPolicy",
    "ServerCommand",
    "run_servers",
    "stop_with_supervisor",
]
