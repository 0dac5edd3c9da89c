"""Actors: pykka's, on shared dispatchers with timers, bounds, batches and supervision.

No socket, no file and no clock of its own: a dispatcher gives time and turns.
"""

from __future__ import annotations

from framework.actors.asyncio_dispatcher import AsyncioDispatcher
from framework.actors.component import Component
from framework.actors.errors import (
    BlockingCallError,
    ChildFailedError,
    MailboxFullError,
    SpawnRefusedError,
)
from framework.actors.mailbox import WhenFull
from framework.actors.reference import ActorRef
from framework.actors.reply import Reply
from framework.actors.scheduler import Dispatcher, Scheduler
from framework.actors.simulated_dispatcher import SimulatedDispatcher
from framework.actors.supervision import STOP_ON_FAILURE, Supervision
from framework.actors.system import ActorSystem
from framework.actors.timer import Timer

__all__ = [
    "STOP_ON_FAILURE",
    "ActorRef",
    "ActorSystem",
    "AsyncioDispatcher",
    "BlockingCallError",
    "ChildFailedError",
    "Component",
    "Dispatcher",
    "MailboxFullError",
    "Reply",
    "Scheduler",
    "SimulatedDispatcher",
    "SpawnRefusedError",
    "Supervision",
    "Timer",
    "WhenFull",
]
