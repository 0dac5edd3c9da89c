"""Supervise the server processes of a topology: launch, restart, status, stop.

Not here: what a server does, and how a topology is read.
"""

from __future__ import annotations

from framework.supervise.asking import AskError, ask_servers
from framework.supervise.control import Question
from framework.supervise.machine import EXIT_REFUSED, RestartPolicy
from framework.supervise.orphan import stop_with_supervisor
from framework.supervise.process import ServerCommand
from framework.supervise.request import Verb
from framework.supervise.run import run_servers

__all__ = [
    "EXIT_REFUSED",
    "AskError",
    "Question",
    "RestartPolicy",
    "ServerCommand",
    "Verb",
    "ask_servers",
    "run_servers",
    "stop_with_supervisor",
]
