from __future__ import annotations

import asyncio
import gc
import weakref

import pykka
import pytest

from framework.actors import (
    ActorSystem,
    AsyncioDispatcher,
    Component,
    SimulatedDispatcher,
    SpawnRefusedError,
)
from framework.actors.limits import MAILBOX_MAX


class Named(Component):
    def __init__(self, *, log=None):
        self._log = log if log is not None else []

    def on_stop(self):
        self._log.append(self.actor_ref.name)

    def on_receive(self, message):
        return message


class Other(Component):
    pass


def test_stop_ends_all_actors_in_reverse_order_of_start(runtime):
    log, system = [], ActorSystem(runtime.dispatcher)
    for name in ("a", "b", "c"):
        system.spawn(Named, name=name, log=log)

    assert runtime.get(system.stop(20)) == ()
    assert log == ["c", "b", "a"]
    assert runtime.get(system.stop(20)) == ()


def test_stop_says_who_was_left_at_the_deadline():
    class Busy(Component):
        def on_receive(self, _message):
            pass

    async def main():
        system = ActorSystem(AsyncioDispatcher())
        busy = system.spawn(Busy, name="busy")
        for _ in range(MAILBOX_MAX):
            busy.tell("work")
        left = await system.stop(0.0)
        return left, await system.stop(20)

    assert asyncio.run(main()) == (("busy",), ())


def test_a_system_is_found_out_by_its_registry(runtime):
    system = ActorSystem(runtime.dispatcher, name="other")
    first, second = system.spawn(Named, name="first"), system.spawn(Other)
    registry = system.registry

    assert registry.get_all() == [first, second]
    assert len(registry) == 2
    assert registry.get_by_name("first") is first
    assert registry.get_by_name("nobody") is None
    assert runtime.system.registry.get_all() == []
    assert pykka.ActorRegistry.get_all() == []  # noqa: TID251
    runtime.get(system.stop(20))
    assert registry.get_all() == []


def test_a_name_is_taken_only_while_its_actor_lives(runtime):
    ref = runtime.system.spawn(Named, name="same")
    with pytest.raises(SpawnRefusedError, match="same"):
        runtime.system.spawn(Named, name="same")
    ref.stop(timeout=20)

    assert runtime.system.spawn(Named, name="same").ask(1, timeout=20) == 1


def test_urns_are_counted_so_that_a_seed_repeats_them():
    urns = [
        [system.spawn(Named).actor_urn for _ in range(3)]
        for system in (ActorSystem(SimulatedDispatcher(), name="s") for _ in range(2))
    ]

    assert urns[0] == urns[1] == ["urn:actor:s:1", "urn:actor:s:2", "urn:actor:s:3"]


def test_spawning_while_stopping_is_refused(runtime):
    refused = runtime.expect()

    class Late(Component):
        def on_stop(self):
            try:
                self.spawn(Named)
            except SpawnRefusedError as error:
                refused.set(str(error))

    runtime.system.spawn(Late, name="late").stop(timeout=20)

    assert runtime.get(refused) == "late is stopping"


def test_beginning_in_init_is_a_bug(simulated):
    class Eager(Component):
        def __init__(self):
            self.spawn(Named)

    with pytest.raises(AssertionError, match="on_start"):
        ActorSystem(simulated).spawn(Eager)


def test_a_stopped_actor_leaves_nothing(simulated):
    class Busy(Component):
        def on_start(self):
            self.spawn(Named)
            self.tell_later(1_000.0, "never")
            self.ask(self.actor_ref, "never", answer=lambda outcome: outcome, deadline_s=1_000.0)

    system = ActorSystem(simulated)
    ref = system.spawn(Busy)
    simulated.run_ready()
    alive = weakref.ref(ref._actor_weakref())
    cells = [weakref.ref(child) for child in system.registry.get_all()]
    assert simulated.timer_count > 0
    ref.stop()
    simulated.run_ready()

    assert simulated.timer_count == 0
    assert len(system.registry) == 0
    gc.collect()
    assert alive() is None
    del ref
    gc.collect()
    assert [cell() for cell in cells] == [None, None]


def test_ten_thousand_actors_come_and_go(simulated):
    system = ActorSystem(simulated)
    refs = [system.spawn(Named) for _ in range(10_000)]
    simulated.run_ready()
    assert len(system.registry) == 10_000
    gone = weakref.ref(refs[77])
    del refs

    assert system.stop(60).get() == ()
    gc.collect()
    assert gone() is None
