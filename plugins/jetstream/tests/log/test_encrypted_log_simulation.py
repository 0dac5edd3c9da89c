"""The log on a simulated disk, encrypted: keys change, and nothing stands there as it was said.

One seed again: `EncryptedSimulation(SEED).run()`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from framework_jetstream.encryption._cipher import Keys
from framework_jetstream.encryption.errors import LockedFileError
from framework_jetstream.log import Log
from typing_extensions import override

sys.path.insert(0, str(Path(__file__).parent))

from changing_keys import KEYS, ChangingKeys
from test_log_simulation import FoundError, Simulation, demand

if TYPE_CHECKING:
    from collections.abc import Callable

SEEDS = 120
MARK = b"nobody may read this"

pytestmark = pytest.mark.sim


class EncryptedSimulation(Simulation):
    def __init__(self, seed: int, *, cuts: bool = True, is_plain: bool = False) -> None:
        self.changing = ChangingKeys(seed, is_plain=is_plain)
        self.is_plain = is_plain
        super().__init__(seed, cuts=cuts)

    @override
    def keys(self) -> Keys | None:
        return self.changing.next()

    @override
    def part(self) -> bytes:
        part = super().part()
        return MARK + part[len(MARK) :] if len(part) > len(MARK) else part

    def check_bytes(self) -> None:
        if not self.is_plain:
            for name in self.disk.names():
                demand(MARK not in self.disk.read(name), f"{name} is not encrypted")

    def locked_by(self, keys: Keys) -> bool:
        """Whether a log with these keys is refused."""
        log = Log(keys=keys)
        for number, name in sorted(self.names().items()):
            data = self.disk.read(name)
            log.load(number, len(data))[:] = data
        try:
            log.recover()
        except LockedFileError:
            return True
        return False


def run_all(block: int, run: Callable[[int], None]) -> None:
    for seed in range(block, SEEDS, 2):
        try:
            run(seed)
        except FoundError as found:
            pytest.fail(f"seed {seed}: {found}")


@pytest.mark.parametrize("block", range(2))
def test_what_was_committed_is_there(block: int) -> None:
    def run(seed: int) -> None:
        simulation = EncryptedSimulation(seed, is_plain=seed % 4 == 0)
        simulation.run()
        simulation.check_bytes()

    run_all(block, run)


@pytest.mark.parametrize("block", range(2))
def test_damage_is_reported(block: int) -> None:
    def run(seed: int) -> None:
        simulation = EncryptedSimulation(seed, cuts=False, is_plain=seed % 4 == 0)
        simulation.run_hurt()
        simulation.check_bytes()

    run_all(block, run)


def test_other_keys_open_nothing() -> None:
    simulation = EncryptedSimulation(3)
    simulation.run()

    assert simulation.locked_by(Keys(cipher=1, keys=(bytes(32), bytes(range(1, 33)))))
    assert simulation.locked_by(Keys())
    assert not simulation.locked_by(Keys(cipher=1, keys=KEYS))
    assert not simulation.locked_by(Keys(passes_locked=True))
