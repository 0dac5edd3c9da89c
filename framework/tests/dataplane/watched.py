"""Planes with real sockets, and the events that tests wait for."""

from __future__ import annotations

import select
from typing import TYPE_CHECKING

from framework.tests.sockets import WAIT_S

if TYPE_CHECKING:
    from framework.dataplane import Event, Plane

CURRENT = {
    "verbose": False,
    "pedantic": False,
    "echo": True,
    "headers": True,
    "no_responders": True,
    "protocol": 1,
}
"""How current clients log in, for `resume_client`."""


def next_events(plane: Plane, awaited: object) -> list[Event]:
    """Wait until something has happened, and return it; `awaited` is for the error."""
    assert select.select([plane.event_fd], [], [], WAIT_S)[0], f"no {awaited}"
    return plane.take_events()


class Watched:
    """A plane whose events are taken in their order."""

    def __init__(self, plane: Plane) -> None:
        self.plane = plane
        self.waiting: list[Event] = []

    def take(self, kind: type) -> Event:
        """Wait for an event of a kind; those before it are forgotten."""
        while True:
            while self.waiting:
                event = self.waiting.pop(0)
                if isinstance(event, kind):
                    return event
            self.waiting += next_events(self.plane, kind)
