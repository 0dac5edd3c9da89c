"""What the meta leader is asked to decide, one after the other.

A decision is made when the one before is applied, so what it is made on is what there is: entries
of Raft's own, which nobody foresees, do not matter then.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec import Struct

from framework_jetstream.api.errors import ApiFailure, ErrCode, failure
from framework_jetstream.meta.leader import Proposal

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework_jetstream.api.errors import ApiError
    from framework_jetstream.meta.effects import Outcome
    from framework_jetstream.meta.leader import Existing, MetaLeader

    Decide: TypeAlias = Callable[[], Proposal | Existing | None]
    Done: TypeAlias = Callable[[Outcome | Existing | None], object]

WAITING_MAX: Final = 4096


class _Wanted(Struct, frozen=True):
    decide: Decide
    done: Done
    refused: Callable[[ApiError], object]


def _ignore(_: object) -> None:
    pass


class Decisions:
    """The queue of the meta leader.

    Args:
        leader: Decides while it is in office.
        propose: Proposes an entry; `dropped` is called if it is not known to be committed.
    """

    def __init__(
        self,
        leader: MetaLeader,
        propose: Callable[[bytes, Callable[[], object]], object],
    ) -> None:
        self._leader = leader
        self._propose = propose
        self._waiting: deque[_Wanted] = deque()
        self._proposed: tuple[int, Done] | None = None

    def decide(
        self,
        decide: Decide,
        done: Done = _ignore,
        refused: Callable[[ApiError], object] = _ignore,
    ) -> None:
        """Let something be decided.

        Args:
            decide: Called when it is its turn; what it raises as ApiFailure goes to `refused`.
            done: Called with what came of it; with None if nobody knows, or nothing was to do.
            refused: Called with why it is not.
        """
        if not self._leader.is_in_office or len(self._waiting) >= WAITING_MAX:
            refused(failure(ErrCode.CLUSTER_NOT_AVAILABLE).error)
            return
        self._waiting.append(_Wanted(decide, done, refused))
        self._next()

    def answered(self, number: int, outcome: Outcome) -> None:
        """An entry that was proposed here is applied."""
        if self._proposed is not None and self._proposed[0] == number:
            _, done = self._proposed
            self._proposed = None
            done(outcome)
            self._next()

    def end(self) -> None:
        """Another server leads: what waits is not decided here."""
        waiting, self._waiting = self._waiting, deque()
        proposed, self._proposed = self._proposed, None
        if proposed is not None:
            proposed[1](None)
        for it in waiting:
            it.done(None)

    def _next(self) -> None:
        while self._waiting and self._proposed is None and self._leader.is_in_office:
            wanted = self._waiting.popleft()
            try:
                decided = wanted.decide()
            except ApiFailure as refusal:
                wanted.refused(refusal.error)
                continue
            if isinstance(decided, Proposal):
                self._proposed = (decided.number, wanted.done)
                self._propose(decided.data, self._dropped(decided.number))
            else:
                wanted.done(decided)

    def _dropped(self, number: int) -> Callable[[], object]:
        def drop() -> None:
            if self._proposed is not None and self._proposed[0] == number:
                _, done = self._proposed
                self._proposed = None
                done(None)
                self._next()

        return drop
