"""Who has little to say does not wait until all is written that others cause, through sockets."""

from __future__ import annotations

import contextlib
import socket
from typing import TYPE_CHECKING

import pytest

from framework.dataplane import Greeting, LinkKind, Plane, PlaneLimits

if TYPE_CHECKING:
    from collections.abc import Iterator

READERS = 400
"""More than one turn writes to."""
MESSAGES = 2_000
CONNECT = b"CONNECT {}\r\nPING\r\n"


class Step:
    """A plane that turns when it is told to, and logs in whoever says CONNECT."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self.plane = Plane(PlaneLimits(), seed=7)
        self.turns = 0
        self._stack = stack

    def client(self) -> socket.socket:
        """Return the other end of a new client that has said nothing."""
        ours, theirs = socket.socketpair()
        self._stack.callback(ours.close)
        ours.settimeout(0)
        self.plane.adopt(theirs, LinkKind.CLIENT, 0, peer=("127.0.0.1", 1), accepted=True)
        return ours

    def turn(self) -> None:
        self.turns += 1
        self.plane.turn(self.turns)
        for event in self.plane.take_events():
            if isinstance(event, Greeting):
                self.plane.resume_client(
                    event.link,
                    verbose=False,
                    pedantic=False,
                    echo=False,
                    headers=False,
                    no_responders=False,
                    protocol=0,
                )

    def until(self, ours: socket.socket, awaited: bytes) -> int:
        """Turn until something is heard; return after how many turns."""
        begin, heard = self.turns, b""
        while awaited not in heard:
            assert self.turns < begin + 1_000
            self.turn()
            with contextlib.suppress(BlockingIOError):
                heard += ours.recv(1 << 16)
        return self.turns - begin


@pytest.fixture
def step() -> Iterator[Step]:
    with contextlib.ExitStack() as stack:
        yield Step(stack)


def test_a_login_takes_as_many_turns_beside_a_wide_fan_out_as_alone(step: Step) -> None:
    readers = [step.client() for _ in range(READERS)]
    for reader in readers:
        reader.send(CONNECT + b"SUB wide 1\r\n")
    for reader in readers:
        step.until(reader, b"PONG")
    publisher = step.client()
    publisher.send(CONNECT)
    alone = step.until(publisher, b"PONG")
    publisher.send(b"PUB wide 0\r\n\r\n" * MESSAGES)
    step.until(readers[0], b"MSG")

    newcomer = step.client()
    newcomer.send(CONNECT)
    beside = step.until(newcomer, b"PONG")
    last_heard = readers[-1].recv(1 << 20)

    assert last_heard.count(b"MSG") < MESSAGES
    assert beside == alone


def test_a_plane_with_a_thread_is_not_turned_by_others() -> None:
    plane = Plane(PlaneLimits(), seed=7)
    plane.start()
    try:
        with pytest.raises(RuntimeError, match="has a thread"):
            plane.turn(0)
    finally:
        plane.stop(10)
