"""The actor that has a recorder for each rule and account."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from typing_extensions import override

from framework.actors import Component, Supervision
from framework_tap.limits import RECORDERS_A_TURN

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from framework.actors import ActorRef
    from framework_tap.recorder import Recorder
    from framework_tap.rule_plan import RulePlan


class TapManager(Component):
    """Start and stop recorders as the configuration says.

    Args:
        recorder: Returns the arguments of a plan's recorder.
    """

    class Follow(Struct, frozen=True):
        """Record by these plans and no others; those that were there go on."""

        plans: tuple[RulePlan, ...]

    class _GoOn(Struct, frozen=True):
        """Others have had their turns."""

    def __init__(self, *, recorder: Callable[[RulePlan], Mapping[str, Any]]) -> None:
        self._recorder = recorder
        self._running: dict[RulePlan, ActorRef[Recorder]] = {}
        self._stopping: deque[RulePlan] = deque()
        self._starting: deque[RulePlan] = deque()
        self._count = 0

    @override
    def on_receive(self, message: object) -> None:
        match message:
            case TapManager.Follow(plans):
                self._follow(plans)
            case TapManager._GoOn():
                self._go_on()
            case _:
                super().on_receive(message)

    def _follow(self, plans: tuple[RulePlan, ...]) -> None:
        wanted = dict.fromkeys(plans)
        self._stopping = deque(plan for plan in self._running if plan not in wanted)
        self._starting = deque(plan for plan in wanted if plan not in self._running)
        self._go_on()

    def _go_on(self) -> None:
        """Stop and start some: thousands at once would hold up clients."""
        for _ in range(RECORDERS_A_TURN):
            if self._stopping:
                self._running.pop(self._stopping.popleft()).stop(block=False)
            elif self._starting:
                self._start(self._starting.popleft())
            else:
                return
        self.tell_later(0.0, TapManager._GoOn())  # the loop looks at its sockets before

    def _start(self, plan: RulePlan) -> None:
        from framework_tap.recorder import Recorder  # noqa: PLC0415 - for who has rules

        self._count += 1
        self._running[plan] = self.spawn(
            Recorder,
            name=f"{plan.name}-{self._count}",
            supervision=Supervision(),
            **self._recorder(plan),
        )
