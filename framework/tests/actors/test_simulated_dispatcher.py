from __future__ import annotations

import os
import subprocess
import sys

import pykka
import pytest

from framework.actors import (
    ActorSystem,
    BlockingCallError,
    Component,
    Reply,
    SimulatedDispatcher,
)

SCRIPT = """
from framework.actors import ActorSystem, Component, SimulatedDispatcher, Supervision

class Gossip(Component):
    def __init__(self, *, peers, seen):
        self.peers, self.seen = peers, seen

    def on_start(self):
        self.tell_later(self.rng.random(), ("tick", 0))

    def on_receive(self, message):
        kind, count = message
        self.seen[f"{kind} {count}"] = object()
        if kind == "tick":
            self.tell_later(self.rng.random(), ("tick", count + 1))
            self.run_blocking(len, "abc", answer=lambda size: ("size", size))
        if count > 40:
            raise ValueError(count)
        peer = self.rng.choice(self.peers)
        if count % 3 and peer.is_alive():
            peer.tell(("rumour", count - 1))

def run(seed):
    dispatcher = SimulatedDispatcher(seed)
    system = ActorSystem(dispatcher, name="gossip")
    peers = []
    for number in range(20):
        supervision = Supervision(restarts_max=3, escalate=False)
        peers.append(system.spawn(
            Gossip, name=f"peer-{number}", supervision=supervision, peers=peers, seen={}))
    dispatcher.run_for(40)
    system.stop(5).get()
    return dispatcher.history
"""


def _run(seed):
    names = {}
    exec(SCRIPT, names)
    return names["run"](seed)


def test_one_seed_has_one_history(logged):
    first, second, third = _run(5), _run(5), _run(6)

    assert first.event_count > 1_000
    assert first.digest() == second.digest()
    assert first.last() == second.last()
    assert first.digest() != third.digest()
    assert logged.records


@pytest.mark.parametrize("seed", [1, 2])
def test_the_history_does_not_depend_on_the_hash_seed(seed):
    program = f"{SCRIPT}\nprint(run({seed}).digest())"
    digests = [
        subprocess.run(
            [sys.executable, "-c", program],
            check=True,
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONHASHSEED": hash_seed},
        ).stdout.splitlines()[-1]
        for hash_seed in ("1", "2")
    ]

    assert len(digests[0]) == 32
    assert digests[0] == digests[1]


class Recorder(Component):
    def __init__(self, *, log):
        self._log = log

    def on_receive(self, message):
        self._log.append((self.actor_ref.name, message))


def _interleaving(seed):
    log, dispatcher = [], SimulatedDispatcher(seed)
    system = ActorSystem(dispatcher)
    refs = [system.spawn(Recorder, name=name, log=log) for name in "abc"]
    for number in range(3):
        for ref in refs:
            ref.tell(number)
            dispatcher.step()
    dispatcher.run_ready()
    return log


def test_seeds_interleave_actors_and_keep_each_ones_order():
    logs = [_interleaving(seed) for seed in range(20)]

    assert len({tuple(log) for log in logs}) > 5
    for log in logs:
        for name in "abc":
            assert [number for who, number in log if who == name] == [0, 1, 2]


def test_what_call_soon_is_given_keeps_its_order(simulated):
    order = []
    for number in range(50):
        simulated.call_soon(lambda number=number: order.append(number))
        simulated.dispatch(lambda: None)
    simulated.run_ready()

    assert order == list(range(50))


def test_time_passes_only_when_it_is_let(simulated):
    fired = []
    simulated.call_later(1.0, lambda: fired.append(simulated.now_ns()))
    simulated.call_later(3.0, lambda: fired.append(simulated.now_ns()))
    simulated.run_ready()
    assert fired == []
    simulated.run_for(2.0)
    assert (fired, simulated.now_ns()) == ([1_000_000_000], 2_000_000_000)
    simulated.run_until(3.0)
    assert fired == [1_000_000_000, 3_000_000_000]
    assert simulated.step() is False


def test_waiting_lets_virtual_time_pass(simulated):
    with pytest.raises(pykka.Timeout):
        Reply(simulated).get(timeout=7.0)
    assert simulated.now_ns() == 7_000_000_000
    with pytest.raises(BlockingCallError, match="never comes"):
        Reply(simulated).get()


def test_letting_time_pass_in_a_turn_is_a_bug(simulated):
    simulated.call_soon(lambda: simulated.run_for(1.0))

    with pytest.raises(AssertionError):
        simulated.run_ready()


def test_closing_drops_the_timers(simulated):
    simulated.call_later(1.0, print)
    simulated.close()

    assert simulated.timer_count == 0


def test_a_history_knows_no_addresses(simulated):
    class Plain:
        pass

    ref = ActorSystem(simulated).spawn(Component)
    ref.tell(Plain())
    simulated.run_ready()

    (event,) = simulated.history.last()
    assert event.endswith("Plain object>")
    assert event.startswith("0 urn:actor:actors:1 ")
