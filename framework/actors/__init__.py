"""Actors: pykka's, on shared dispatchers with timers, bounds, batches and supervision.

No socket, no file and no clock of its own: a dispatcher gives time and turns.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

import pykka

from framework.actors import component, reference, reply, scheduler, system
from framework.actors._cell import Cell
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
from framework.actors.supervision import STOP_ON_FAILURE, Supervision
from framework.actors.system import ActorSystem
from framework.actors.timer import Timer
from framework.lazy_names import lazy_names

if TYPE_CHECKING:
    from framework.actors.simulated_dispatcher import SimulatedDispatcher

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

__getattr__ = lazy_names(__name__, {"SimulatedDispatcher": "simulated_dispatcher"})

# These modules need each other, and so cannot import each other; what their annotations name they
# get here, so that `typing.get_type_hints` and `help()` can resolve it.
_ANNOTATIONS = {
    "ActorRef": ActorRef,
    "ActorSystem": ActorSystem,
    "Callable": Callable,
    "Cell": Cell,
    "Dispatcher": Dispatcher,
    "Reply": Reply,
    "Sequence": Sequence,
    "Timer": Timer,
    "TracebackType": TracebackType,
    "pykka": pykka,
    "random": random,
}
for _module in (component, reference, reply, scheduler, system):
    for _name, _value in _ANNOTATIONS.items():
        vars(_module).setdefault(_name, _value)
