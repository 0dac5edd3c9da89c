"""Whether who leads a group was still there when a request came: nobody answers for the dead.

A request goes to all servers, and who leads answers. One that has just died does not, and the
others believe for a while that it leads. So they look again, a little later, whether it was heard
since.
"""

from __future__ import annotations

from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Final

from framework_jetstream.engine.verbs import GroupOf, Verb
from framework_jetstream.meta.answering import LATE_NS
from framework_jetstream.meta.view import group_state

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework_jetstream.engine.link import EngineAnswer
    from framework_jetstream.meta.view import ClusterView

LOOKS_MAX: Final = 4
"""An election takes 0.5 to 1 s, a second one if votes were split."""
_HEARTBEATS_NS: Final = 150_000_000
"""Two of them: who was heard so shortly after a request may have died of it."""
_GATHER_S: Final = 0.1
"""Requests to one group that come within it are looked after together."""
_WATCHED_MAX: Final = 1024
"""Of them; more are left alone."""


class Seen(Enum):
    """Who leads, some time after a request came."""

    HERE = "this server"
    ELSEWHERE = "another server, which has answered"
    NOBODY = "nobody"


class LeaderWatch:
    """Looks after groups whose leader should answer.

    Args:
        view: Of the cluster.
        ask: Asks the engine, as `EngineLink.ask` does.
        later: Calls something after so many seconds.
    """

    def __init__(
        self,
        view: ClusterView,
        ask: Callable[..., object],
        later: Callable[[float, Callable[[], object]], object],
    ) -> None:
        self._view = view
        self._ask = ask
        self._later = later
        self._gathered: dict[tuple[int, GroupOf], list[Callable[[Seen], object]]] = {}

    def watch(
        self, number: int, of: GroupOf, then: Callable[[Seen], object], *, looks: int = LOOKS_MAX
    ) -> None:
        """Call `then` once it is known who leads a group, to which a request has just come.

        Args:
            number: Of its stream or consumer, or of the control group.
            of: Which of them.
            then: Called after more than half a second, or later if nobody leads meanwhile.
            looks: After so many nobody leads; those of the first of several count.
        """
        gathered = self._gathered.setdefault((number, of), [])
        if len(gathered) < _WATCHED_MAX:
            gathered.append(then)
        if len(gathered) == 1:
            self._later(_GATHER_S, partial(self._begin, number, of, looks))

    def _begin(self, number: int, of: GroupOf, looks: int) -> None:
        gathered = self._gathered.pop((number, of))

        def tell(seen: Seen) -> None:
            for then in gathered:
                then(seen)

        self._look_later(number, of, tell, (1, looks))

    def _look_later(
        self, number: int, of: GroupOf, then: Callable[[Seen], object], looks: tuple[int, int]
    ) -> None:
        def told(said: EngineAnswer) -> None:
            at, most = looks
            if said.status:
                then(Seen.ELSEWHERE)
                return
            state = group_state(said.numbers, said.data)
            if of is GroupOf.CONTROL:
                self._view.take_state(state)
            if state.is_leader:
                then(Seen.HERE)
            elif state.leader and state.heard_ns < at * LATE_NS - _HEARTBEATS_NS:
                then(Seen.ELSEWHERE)
            elif at >= most:
                then(Seen.NOBODY)
            else:
                self._look_later(number, of, then, (at + 1, most))

        look = partial(self._ask, Verb.GROUP_STATE, number, then=told, numbers=(of,))
        self._later(LATE_NS / 1e9, look)
