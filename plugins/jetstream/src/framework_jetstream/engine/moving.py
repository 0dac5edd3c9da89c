"""A group follows the meta group: where it is led, its members become those that are to have it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from framework_jetstream.engine.verbs import GroupOf, Verb
from framework_jetstream.meta.moving import Done, Step, next_step
from framework_jetstream.meta.peers import number_of
from framework_jetstream.meta.view import group_state

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework_jetstream.engine.link import EngineAnswer
    from framework_jetstream.meta.assignments import Assignment

SOON_S: Final = 0.05
"""Between two steps."""
LATER_S: Final = 0.5
"""Until something is looked at again that others have to do: to catch up, to take note."""


class Shareable(Protocol):
    """A stream or consumer, as its server has it."""

    is_logged: bool
    """The log knows of it, though it is in memory."""
    is_leader: bool
    replicas: tuple[int, ...]


def share(
    entry: Shareable,
    replicas: tuple[int, ...],
    *,
    is_logged: bool,
    ask_open: Callable[[Callable[[EngineAnswer], object]], object],
    refused: Callable[[], object],
) -> None:
    """Let others be added to what this server has alone; nobody leads it until its group does.

    Args:
        entry: What is opened once more, as a group, and before that so that the log knows it.
        replicas: Its group and this server, as numbers.
        is_logged: The log knows of it; what was in memory alone is opened there first.
        ask_open: Asks the engine to open what `entry` says.
        refused: Called when it stays as it was.
    """
    entry.is_leader = False

    def logged(told: EngineAnswer) -> None:
        if told.status:
            entry.is_logged, entry.is_leader = False, True
            refused()
        else:
            open_shared()

    def shared(told: EngineAnswer) -> None:
        if told.status:
            entry.replicas, entry.is_leader = (), True
            refused()

    def open_shared() -> None:
        entry.replicas = replicas
        ask_open(shared)

    if is_logged:
        open_shared()
    else:
        entry.is_logged = True
        ask_open(logged)


class Moving:
    """Brings the members of one group to those of its assignment.

    Args:
        of: What kind of group it is.
        ask: Asks the engine about it: verb, numbers, and what is done with the answer.
        assigned: Returns what the meta group says; None: this server does not know it now.
        moved: Told, again and again until the target is gone, who has the group then.
        later: Calls something after so many seconds.
    """

    def __init__(
        self,
        *,
        of: GroupOf,
        ask: Callable[[Verb, tuple[int, ...], Callable[[EngineAnswer], object]], object],
        assigned: Callable[[], Assignment | None],
        moved: Callable[[int, tuple[str, ...]], object],
        later: Callable[[float, Callable[[], object]], object],
    ) -> None:
        self._of = of
        self._ask = ask
        self._assigned = assigned
        self._moved = moved
        self._later = later
        self._is_at_it = False

    def look(self) -> None:
        """Do what is due, step by step, while this server leads the group."""
        if not self._is_at_it:
            self._is_at_it = True
            self._next()

    def _next(self) -> None:
        self._ask(Verb.GROUP_STATE, (self._of,), self._take_state)

    def _take_state(self, told: EngineAnswer) -> None:
        state = None if told.status else group_state(told.numbers, told.data)
        if state is None or not state.is_leader:
            self._is_at_it = False
            return
        found = self._assigned()
        if found is None:
            self._later(LATER_S, self._next)
            return
        wanted = found.group.target or found.group.peers
        step = next_step(state, wanted)
        if isinstance(step, Step):
            self._take_step(step)
        elif isinstance(step, Done) and not found.group.target:
            self._is_at_it = False
        else:
            if isinstance(step, Done):
                self._moved(found.created_ns, wanted)
            self._later(LATER_S, self._next)

    def _take_step(self, step: Step) -> None:
        def told(answer: EngineAnswer) -> None:
            # What is refused now may be possible when the change before is committed.
            self._later(LATER_S if answer.status else SOON_S, self._next)

        numbers: tuple[Any, ...] = (self._of, number_of(step.peer))
        if step.change is None:
            self._ask(Verb.STEP_DOWN, numbers, told)
        else:
            self._ask(Verb.CHANGE_MEMBER, (self._of, step.change, numbers[1]), told)
