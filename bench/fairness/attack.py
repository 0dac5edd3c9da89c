"""One attack: what must be there before, and what its process does until it is told to end."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.synchronize import Event

    from framework.testing import RawClient

_CHUNK = 10_000


@dataclass(frozen=True, slots=True)
class Target:
    """The server under attack, as its attackers know it."""

    port: int
    monitor_port: int


@dataclass(frozen=True, slots=True)
class Attack:
    """A row of the table.

    `prepare` runs in the bench's own process before others are measured without the attack; what it
    yields within stays until the end: clients with many subscriptions. `run` is the attack itself,
    in a process of its own, and returns soon after the event is set.
    """

    name: str
    run: Callable[[Target, Event], None]
    prepare: Callable[[Target], contextlib.AbstractContextManager[object]] = lambda _: (
        contextlib.nullcontext()
    )
    config: str = ""
    """Of the server, beside a monitoring port."""
    login: tuple[str, str] = ("", "")
    """User and password by which others log in, if somebody must."""


def subscribe(client: RawClient, count: int, prefix: str = "held") -> None:
    """Subscribe to many subjects on one connection; return when the server has them all."""
    for first in range(0, count, _CHUNK):
        numbers = range(first, min(first + _CHUNK, count))
        client.send(b"".join(b"SUB %b.%d %d\r\n" % (prefix.encode(), it, it + 1) for it in numbers))
    client.flush()


@contextlib.contextmanager
def holding(client: RawClient, count: int) -> Iterator[RawClient]:
    """Keep a client with many subscriptions."""
    with client:
        subscribe(client, count)
        yield client
