"""Hosts by address, delays from a seed, pairs that are cut off from each other."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final

from framework.actors import SimulatedDispatcher
from framework.spec import DialFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework.spec import LinkId
    from framework.testing.simulation._server import SimulatedServer

_DELAY_MIN_S: Final = 0.000_1
_DELAY_MAX_S: Final = 0.02
_PORTS_FROM: Final = 50_000
_PORTS: Final = 10_000
"""Ports that dials come from."""


class Pipe:
    """A connection: two ends, bytes in order, each message with its own delay."""

    def __init__(
        self, near: tuple[SimulatedServer, LinkId], far: tuple[SimulatedServer, LinkId]
    ) -> None:
        self.ends = (End(*near, self), End(*far, self))
        self.is_cut = False


class End:
    """One end of a pipe: a link of a server."""

    def __init__(self, server: SimulatedServer, link: LinkId, pipe: Pipe) -> None:
        self.server = server
        self.link = link
        self.pipe = pipe
        self.busy_until_ns = 0

    @property
    def other(self) -> End:
        """The other end."""
        first, second = self.pipe.ends
        return second if self is first else first


class SimulatedNetwork:
    """A network of simulated servers, and their clock.

    Args:
        seed: Same seed, same delays, same order of turns.
    """

    def __init__(self, seed: int) -> None:
        self.dispatcher = SimulatedDispatcher(seed)
        self.hosts: dict[str, SimulatedServer] = {}
        """Those that run, by address."""
        self.pipes: list[Pipe] = []
        """All connections that were ever made."""
        self.cuts: set[frozenset[str]] = set()
        """Pairs of addresses between which nothing can be dialed."""
        self._rng = random.Random(f"{seed} network")

    def delay_s(self) -> float:
        """Return how long the next thing is on its way: 0.1 to 20 ms."""
        return self._rng.uniform(_DELAY_MIN_S, _DELAY_MAX_S)

    def is_cut(self, first: str, second: str) -> bool:
        """Return whether two addresses are cut off from each other."""
        return frozenset((first, second)) in self.cuts

    def cut(self, first: str, second: str) -> None:
        """Break all connections of two addresses, and let them make no other one."""
        self.cuts.add(frozenset((first, second)))
        for pipe in self.pipes:
            if {end.server.host for end in pipe.ends} == {first, second}:
                self.reset(pipe)

    def reset(self, pipe: Pipe) -> None:
        """Break a connection; what is on its way is lost."""
        pipe.is_cut = True
        for end in pipe.ends:
            self.dispatcher.call_later(self.delay_s(), end.server.hanging_up(end.link))

    def dial(self, source: SimulatedServer, host: str, port: int, token: int) -> None:
        """Let a server connect to an address; it hears how that went."""
        self.dispatcher.call_later(self.delay_s(), lambda: self._connect(source, host, port, token))

    def carry(self, end: End, deliver: Callable[[], None]) -> None:
        """Do something at the other end, after all that was sent there before."""
        at_ns = self.dispatcher.now_ns() + int(self.delay_s() * 1e9)
        end.busy_until_ns = max(end.busy_until_ns + 1, at_ns)
        delay_s = (end.busy_until_ns - self.dispatcher.now_ns()) / 1e9
        self.dispatcher.call_later(delay_s, deliver)

    def _connect(self, source: SimulatedServer, host: str, port: int, token: int) -> None:
        target = self.hosts.get(host)
        kind = target.listeners.get(port) if target else None
        if source.is_gone:
            return
        if target is None or kind is None or self.is_cut(source.host, host):
            source.tell(DialFailed(token, "connection refused"))
            return
        link = source.core.open(kind, host, port, accepted=False, token=token)
        peer = target.core.open(kind, source.host, _PORTS_FROM + link % _PORTS, accepted=True)
        pipe = Pipe((source, link), (target, peer))
        self.pipes.append(pipe)
        for end in pipe.ends:
            end.server.ends[end.link] = end
            end.server.pump()
