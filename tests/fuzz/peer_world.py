"""What worlds of plugins that link servers have alike: connections, dials, and what is on its way.

A plugin's machines are wired as its actors wire them, without any I/O. They must refuse what is
wrong and raise nothing, and hold nothing once everybody has gone.
"""

from __future__ import annotations

import json
from collections import deque
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from framework.wire.closed_state import ClosedState
from tests.fuzz.mutation import mutate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from random import Random

    from framework import peering as p
    from framework.spec import LinkId

STEPS = 400
"""Of one run; a run takes some tens of milliseconds."""
ROUNDS_MAX = 200
"""In which all is over at the end: more than any target is tried."""
STRANGE = (None, True, -1, 1.5, "", "x" * 300, "\n", [], {}, {"allow": 3}, "\ud800")
"""For any field of a document."""


class Steered(Protocol):
    """What decides about all connections of a plugin."""

    def receive_timer(self, token: int) -> Any:
        """Take that a wait is over."""

    def receive_dial_failed(self, token: int, error: str) -> Any:
        """Take that a dial came to nothing."""


S = TypeVar("S", bound=Steered)
M = TypeVar("M")


class PeerWorld(Generic[S, M]):
    """One server's connections of a kind, led by machines `M`, which `S` decides about.

    Args:
        rng: Decides what happens.
    """

    steered: S
    STEPS_OF: ClassVar[dict[str, float]]
    """Names of methods that let something happen, with how often each does."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._links = count(1)
        self._machines: dict[LinkId, M] = {}
        self._inbox: deque[Callable[[], None]] = deque()
        self._dials: list[int] = []
        self._waits: list[int] = []

    def run(self) -> None:
        """Let things happen, then let everybody go, and look that nothing is left."""
        names, weights = [*self.STEPS_OF], [*self.STEPS_OF.values()]
        for _ in range(STEPS):
            getattr(self, self._rng.choices(names, weights)[0])()
            self._check()
        self._dismiss_all()
        self._drain()
        self._check_empty()

    # -- of each plugin

    def _do(self, effects: Iterable[Any]) -> None:
        """Do what was decided about all connections."""
        raise NotImplementedError

    def _act(self, link: LinkId, effects: Sequence[Any]) -> None:
        """Do what a machine has decided about its connection."""
        raise NotImplementedError

    def _close(self, link: LinkId, reason: ClosedState) -> None:
        """End a connection."""
        raise NotImplementedError

    def _check(self) -> None:
        """Look at what must hold at any time."""
        raise NotImplementedError

    def _dismiss_all(self) -> None:
        """Begin to let everybody go for good."""
        raise NotImplementedError

    def _check_empty(self) -> None:
        """Look that nobody is left."""
        assert not self._dials, "somebody is dialed for ever"
        assert not self._waits

    # -- what may happen

    def _deliver(self) -> None:
        for _ in range(self._rng.randrange(4)):
            if self._inbox:
                self._inbox.popleft()()

    def _ring(self) -> None:
        if self._waits:
            token = self._waits.pop(self._rng.randrange(len(self._waits)))
            self._do(self.steered.receive_timer(token))

    def _hang_up(self) -> None:
        link = self._any_link()
        if link is not None:
            self._close(link, self._rng.choice((ClosedState.CLIENT_CLOSED, ClosedState.READ_ERROR)))

    def _any_link(self) -> LinkId | None:
        return self._rng.choice(list(self._machines)) if self._machines else None

    def _mangled(self, said: dict[str, Any]) -> bytes:
        """Return a document as it is, most times."""
        document = json.dumps(said).encode()
        if self._rng.random() < 0.9:
            return document
        return mutate(document, [document, b"[" * 2_000], self._rng)

    # -- what comes of it, as the actors do it

    def _post(self, action: Callable[[], None]) -> None:
        self._inbox.append(action)

    def _flush(self) -> None:
        while self._inbox:
            self._inbox.popleft()()

    def _tell(self, link: LinkId, tell: Callable[[M], Sequence[Any]]) -> None:
        def do() -> None:
            if link in self._machines:
                self._act(link, tell(self._machines[link]))

        self._post(do)

    def _dismiss(self, effect: p.Dismiss) -> None:
        link, reason, text = effect.link, effect.reason, effect.text
        if link in self._machines:
            self._tell(link, lambda it: it.receive_dismissed(reason, text))  # type: ignore[attr-defined]

    def _drain(self) -> None:
        """Let everybody go; whoever is dialed does not answer."""
        for _ in range(ROUNDS_MAX):
            self._flush()
            for link in list(self._machines):
                self._close(link, ClosedState.CLIENT_CLOSED)
            dials, self._dials = self._dials, []
            for token in dials:
                self._do(self.steered.receive_dial_failed(token, "connection refused"))
            waits, self._waits = self._waits, []
            for token in waits:
                self._do(self.steered.receive_timer(token))
            if not (self._dials or self._waits or self._machines or self._inbox):
                break
