"""Recorders of many rules, started and stopped by virtual time."""

from __future__ import annotations

from unittest.mock import Mock

import pytest
from framework_tap.config import TapRule
from framework_tap.limits import RECORDERS_A_TURN
from framework_tap.rule_plan import RulePlan
from framework_tap.tap_manager import TapManager

from framework.actors import ActorSystem, SimulatedDispatcher

RULES = 5 * RECORDERS_A_TURN + 3
HOUR_NS = 3_600_000_000_000


class World:
    """A manager of recorders that find nothing."""

    def __init__(self):
        self.dispatcher = SimulatedDispatcher()
        self.sinks = {}
        system = ActorSystem(self.dispatcher)
        self.manager = system.spawn(TapManager, recorder=self._recorder)

    def _recorder(self, plan):
        sink = self.sinks[plan] = Mock(problem="", has_room=False, is_written_idle=False)
        sink.wait_s.return_value = None
        return {
            "plan": plan, "maker": Mock(), "sink": sink, "unix_ns": self.dispatcher.now_ns,
            "processors": Mock(), "log": Mock(),
        }  # fmt: skip

    def running(self):
        """Return the plans whose recorders have begun and not stopped."""
        return {plan for plan, it in self.sinks.items() if it.open.called and not it.close.called}


@pytest.fixture
def world():
    return World()


@pytest.fixture
def plans():
    return tuple(RulePlan(f"r{at}", "$G", TapRule(), f"$TAPS.x.{at}") for at in range(RULES))


def test_so_many_recorders_are_begun_in_a_turn(world, plans):
    world.manager.tell(TapManager.Follow(plans))
    before, most = 0, 0
    while world.dispatcher.step(HOUR_NS):
        most, before = max(most, len(world.sinks) - before), len(world.sinks)

    assert RECORDERS_A_TURN == most
    assert set(plans) == world.running()


def test_rules_that_go_and_come_while_others_are_begun(world, plans):
    world.manager.tell(TapManager.Follow(plans[: RULES // 2]))
    world.dispatcher.run_for(1)
    world.manager.tell(TapManager.Follow(plans))
    world.dispatcher.step(HOUR_NS)
    assert len(plans) > len(world.sinks)
    world.manager.tell(TapManager.Follow(plans[RULES // 4 : -1]))
    world.dispatcher.run_for(1)

    assert set(plans[RULES // 4 : -1]) == world.running()
    assert plans[-1] not in world.sinks


def test_recorders_of_rules_that_have_not_changed_go_on(world, plans):
    world.manager.tell(TapManager.Follow(plans))
    world.dispatcher.run_for(1)
    before = dict(world.sinks)
    world.manager.tell(TapManager.Follow(plans))
    world.dispatcher.run_for(1)

    assert before == world.sinks
    assert set(plans) == world.running()
