"""Engine, log and segments on simulated disks, encrypted, with keys that change.

One seed again: `EncryptedSimulation(SEED).run()`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from framework_jetstream.log import Log
from framework_jetstream.store._pages import state_of
from framework_jetstream.store.folder import name_of
from typing_extensions import override

if TYPE_CHECKING:
    from framework_jetstream.encryption._cipher import Keys

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "log"))

from changing_keys import ChangingKeys
from test_engine_simulation import Simulation, is_named

SEEDS = 60
MARKS = (b"x" * 24, b'"subjects"')
"""Of payloads, and of what streams are."""

pytestmark = pytest.mark.sim


class EncryptedSimulation(Simulation):
    def __init__(self, seed: int, *, is_plain: bool = False) -> None:
        self.changing = ChangingKeys(seed, is_plain=is_plain)
        super().__init__(seed)

    @override
    def keys(self) -> Keys | None:
        return self.changing.next()

    def settle(self) -> None:
        """Go on until nothing is to be done any more that follows from keys."""
        self.disk.size_bytes = self.segment_disk.size_bytes = 1 << 40
        self.publish()  # files that are needed no more go with the next write
        for _ in range(400):
            self.turn()
            busy = self.round() | self.job()
            self.read_back()
            if not busy and not self.engine.is_rekeying:
                break
        assert not self.engine.is_rekeying

    def marked(self) -> list[str]:
        """Return files in which something stands as it was said."""
        return [
            name
            for disk in (self.disk, self.segment_disk)
            for name in disk.names()
            if any(mark in disk.read(name) for mark in MARKS)
        ]

    def others(self) -> list[str]:
        """Return files that the key of now does not open."""
        found = []
        keys = self.changing.current()
        for group, file in self.files():
            is_encrypted, is_open, _ = state_of(self.read(group, file)[:1024], keys, group, file)
            found += [] if is_encrypted and is_open else [name_of(group, file)]
        for name in self.disk.names():
            log = Log(keys=keys)
            data = self.disk.read(name)
            log.load(int(name[:-4]), len(data))[:] = data
            log.recover()
            found += [name] if log.has_other_keys else []
        return found


def lives(seed: int, *, is_plain: bool) -> EncryptedSimulation:
    try:
        simulation = EncryptedSimulation(seed, is_plain=is_plain)
        simulation.small_bytes = 0 if is_plain else simulation.small_bytes
        simulation.run()
    except AssertionError as problem:
        raise AssertionError(f"seed {seed}: {problem}") from problem
    return simulation


@pytest.mark.parametrize("block", range(2))
def test_nothing_is_lost_and_nothing_can_be_read(block: int) -> None:
    for seed in range(block, SEEDS, 2):
        simulation = lives(seed, is_plain=False)
        assert simulation.marked() == [], f"seed {seed}"


def test_what_was_not_encrypted_is_when_a_start_has_settled() -> None:
    saves = 0
    for seed in range(SEEDS):
        simulation = lives(seed, is_plain=True)
        before = simulation.marked()
        simulation.changing.cipher = simulation.changing.cipher or 1
        simulation.start()
        simulation.settle()

        assert simulation.others() == [], f"seed {seed}"
        assert simulation.marked() == [], f"seed {seed}"
        simulation.check()
        saves += any(it.endswith(".seg") for it in before)
    assert saves > 1


def test_one_bit_costs_what_is_named() -> None:
    reported = 0
    for seed in range(40):
        simulation = EncryptedSimulation(seed)
        if simulation.config.max_msgs > 0:
            continue  # with fewer messages, others would have stayed
        simulation.small_bytes = 0
        simulation.run()
        simulation.settle()
        reported += is_named(simulation, seed)
    assert reported > 5
