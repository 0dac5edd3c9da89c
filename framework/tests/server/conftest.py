from __future__ import annotations

import threading
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from framework.dataplane import LinkKind, LinkRow
from framework.tests.sockets import WAIT_S

if TYPE_CHECKING:
    from framework.server.pump import Pump
    from framework.spec import Event


class RecordingPlane:
    """Stands in for a plane: remembers what it is told, and hands out events of the test."""

    event_fd = -1

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
        self.events: list[Event] = []
        self.holding = 0
        self._numbers = count(1)

    def hold(self) -> None:
        self.holding += 1

    def release(self) -> None:
        self.holding -= 1

    def __getattr__(self, name: str) -> Any:
        def record(*arguments: Any, **keywords: Any) -> int:
            self.calls.append((name, arguments, keywords))
            return next(self._numbers)

        return record

    def take_events(self) -> list[Event]:
        events, self.events = self.events, []
        return events

    def named(self, name: str) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
        """Return the arguments of each call of a command."""
        return [(arguments, keywords) for it, arguments, keywords in self.calls if it == name]


@pytest.fixture
def plane() -> Any:
    return RecordingPlane()


def make_row(link: int, **changes: Any) -> LinkRow:
    """Return the state of a link on which nothing has happened."""
    fields: dict[str, Any] = {
        "link": link,
        "kind": LinkKind.CLIENT,
        "cid": link,
        "host": "127.0.0.1",
        "port": 4_000,
        "opened_ns": 0,
        "last_activity_ns": 0,
        "rtt_ns": 0,
        "pending_bytes": 0,
        "in_msgs": 0,
        "in_bytes": 0,
        "out_msgs": 0,
        "out_bytes": 0,
        "subscriptions": 0,
        "stalls": 0,
    }
    return LinkRow(**{**fields, **changes})


@pytest.fixture
def row() -> Any:
    return make_row


def settled(pump: Pump) -> None:
    """Return when the pump has done all that it was told until now."""
    done = threading.Event()
    pump.call(done.set)

    assert done.wait(WAIT_S)
