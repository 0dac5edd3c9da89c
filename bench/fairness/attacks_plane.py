"""Attacks by messages, subscriptions and their ends."""

from __future__ import annotations

import contextlib
import os
import selectors
from typing import TYPE_CHECKING, Final

from bench.fairness.attack import Attack, subscribe
from framework.testing import RawClient
from framework.testing.errors import ConnectionEndedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.synchronize import Event

    from bench.fairness.attack import Target

_BURST: Final = 60
_MATCHES: Final = 131_072
_PAUSE_S: Final = 0.2
_MANY: Final = 1_000_000


def _subscribe_alike(client: RawClient, count: int, line: bytes) -> None:
    """Subscribe many times by one line, in which `%d` is the number."""
    for first in range(0, count, 10_000):
        numbers = range(first, min(first + 10_000, count))
        client.send(b"".join(line.replace(b"%d", b"%d" % it) for it in numbers))
        client.flush()


def _deaf(count: int) -> Callable[[Target, Event], None]:
    """Publish without end to own subscriptions only, without echo: nobody is sent anything."""

    def run(target: Target, over: Event) -> None:
        with contextlib.suppress(OSError, ConnectionEndedError), RawClient(target.port) as client:
            client.log_in(echo=False)
            _subscribe_alike(client, count, b"SUB x %d\r\n")
            while not over.is_set():
                client.send(b"PUB x 0\r\n\r\n" * 1_000)

    return run


def _bursts(line: bytes) -> Callable[[Target, Event], None]:
    """Publish 60 messages to 131,072 subscriptions in one write, again and again."""

    def run(target: Target, over: Event) -> None:
        with contextlib.suppress(OSError, ConnectionEndedError), RawClient(target.port) as client:
            client.log_in(echo=False)
            _subscribe_alike(client, _MATCHES, line)
            while not over.wait(_PAUSE_S):
                client.send(b"PUB x.y 0\r\n\r\n" * _BURST)

    return run


def _wide(target: Target, over: Event) -> None:
    """Publish to a thousand clients that read, as fast as they do."""
    with contextlib.ExitStack() as stack:
        poller = stack.enter_context(selectors.DefaultSelector())
        for _ in range(1_000):
            client = stack.enter_context(RawClient(target.port))
            client.log_in()
            client.send(b"SUB wide 1\r\n")
            poller.register(client, selectors.EVENT_READ)
        publisher = stack.enter_context(RawClient(target.port))
        publisher.log_in()
        while not over.is_set():
            publisher.send(b"PUB wide 128\r\n%128d\r\n" * 10 % tuple(range(10)))
            for key, _ in poller.select(0):
                os.read(key.fd, 1 << 20)


@contextlib.contextmanager
def _with_many(target: Target) -> Iterator[object]:
    with RawClient(target.port) as client:
        client.log_in()
        subscribe(client, _MANY)
        _leaving.append(client)
        yield client
        _leaving.clear()


_leaving: Final[list[RawClient]] = []
"""The client that goes: the process that attacks inherits it."""


def _leave(_: Target, over: Event) -> None:
    """Close a connection with a million subscriptions."""
    over.wait(_PAUSE_S)
    _leaving[0].shut_down()
    over.wait()


def _unsubscribe(target: Target, over: Event) -> None:
    """Subscribe 100,000 times, then end all of them in one write; again and again."""
    with contextlib.suppress(OSError, ConnectionEndedError), RawClient(target.port) as client:
        client.log_in()
        while not over.wait(_PAUSE_S):
            subscribe(client, 100_000)
            client.send(b"".join(b"UNSUB %d\r\n" % (it + 1) for it in range(100_000)))
            client.flush()


ATTACKS: Final[tuple[Attack, ...]] = (
    *(Attack(f"{n:,} subscriptions without echo", _deaf(n)) for n in (5_000, 20_000, 150_000)),
    Attack("60 publishes to 131,072 matches", _bursts(b"SUB x.y %d\r\n")),
    Attack("60 publishes to 131,072 wildcards", _bursts(b"SUB x.* %d\r\n")),
    Attack("60 publishes to 131,072 queue groups", _bursts(b"SUB x.y q%d %d\r\n")),
    Attack("1 to 1,000 clients", _wide),
    Attack("a client with 1,000,000 subscriptions closes", _leave, _with_many),
    Attack("100,000 UNSUBs in one write", _unsubscribe),
)
