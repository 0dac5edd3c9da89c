"""The actor that has a recorder for each rule and account."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct
from typing_extensions import override

from framework.actors import Component, Supervision

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

    def __init__(self, *, recorder: Callable[[RulePlan], Mapping[str, Any]]) -> None:
        self._recorder = recorder
        self._running: dict[RulePlan, ActorRef[Recorder]] = {}
        self._count = 0

    @override
    def on_receive(self, message: object) -> None:
        match message:
            case TapManager.Follow(plans):
                self._follow(plans)
            case _:
                super().on_receive(message)

    def _follow(self, plans: tuple[RulePlan, ...]) -> None:
        for plan in self._running.keys() - set(plans):
            self._running.pop(plan).stop(block=False)
        if not plans:
            return
        from framework_tap.recorder import Recorder  # noqa: PLC0415 - for who has rules

        for plan in plans:
            if plan not in self._running:
                self._count += 1
                self._running[plan] = self.spawn(
                    Recorder,
                    name=f"{plan.name}-{self._count}",
                    supervision=Supervision(),
                    **self._recorder(plan),
                )
