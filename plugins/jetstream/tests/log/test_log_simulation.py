"""The log on a simulated disk: seeds choose the work, the faults and the places where it stops.

One of them again: `Simulation(SEED).run()`.

The log is one order of operations. What it has when it is opened must be what the first n of them
made, and n is at least the number of those that it called committed; unless damage is reported.
"""

from __future__ import annotations

import copy
import errno
import random
import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from framework_jetstream.log import DamageReason, Effect, Kind, Log, Refused

from framework.testing.simulation import SimulatedDisk
from framework.wire._crc32c import checksum

if TYPE_CHECKING:
    from framework_jetstream.encryption._cipher import Keys
    from framework_jetstream.log import GroupState

SEEDS = 600
FILE_BYTES = 1 << 16
STEPS = 60
SECTOR = 512
HEADS = 8192
ROUND_HEAD = struct.Struct("<IIIIQQQII")
WITHOUT_PLACE = {DamageReason.RECORD, DamageReason.ROUND, DamageReason.FILE_MISSING}

pytestmark = pytest.mark.sim


class FoundError(AssertionError):
    """The checker has found something."""


def demand(is_so: bool, what: str) -> None:  # noqa: FBT001
    if not is_so:
        raise FoundError(what)


@dataclass
class Group:
    """A group as the operations made it."""

    description: bytes
    last_index: int = 0
    term: int = 1
    vote: int = 0
    snapshot_index: int = 0
    snapshot: bytes = b""
    entries: dict[int, tuple[int, list[bytes]]] = field(default_factory=dict)
    """By index: number of the operation, and parts."""

    def append(self, order: int, parts: list[bytes]) -> None:
        self.last_index += 1
        self.entries[self.last_index] = (order, parts)

    def cut(self, first: int) -> None:
        self.last_index = min(self.last_index, first - 1)
        self.entries = {index: it for index, it in self.entries.items() if index < first}


Model = dict[int, Group]


def apply(model: Model, order: int, operation: tuple) -> None:
    match operation:
        case ("open", group, description):
            assert group not in model
            model[group] = Group(description)
        case ("describe", group, description):
            model[group].description = description
        case ("close", group):
            del model[group]
        case ("append", group, _, parts):
            model[group].append(order, parts)
        case ("snapshot", group, index, state):
            model[group].snapshot_index, model[group].snapshot = index, state
        case ("cut", group, index):
            model[group].cut(index)
        case ("vote", group, term, vote):
            model[group].term, model[group].vote = term, vote


def lacks(state: bytes) -> bool:
    """Return whether a snapshot is said to miss something: every other one, by what it is."""
    return state[:1] > b"\x7f"


def head_of(it: Group | GroupState, *, is_lacking: bool) -> tuple:
    """Return what is known of a group beside its entries."""
    place = it.description, it.last_index, it.term, it.vote
    return *place, it.snapshot_index, it.snapshot, is_lacking


def seen_of(model: Model) -> dict:
    """Return what an opened log shows of a model."""
    return {
        number: (
            head_of(it, is_lacking=lacks(it.snapshot)),
            {index: parts for index, (_, parts) in it.entries.items() if index > it.snapshot_index},
        )
        for number, it in model.items()
    }


class Simulation:
    def __init__(
        self, seed: int, mistake: str = "", *, cuts: bool = True, syncs: float = 0.2
    ) -> None:
        self.rng = random.Random(f"{seed} work")
        self.disk = SimulatedDisk(seed)
        self.mistake = mistake
        self.cuts = cuts
        """Whether groups lose their tails. Damage that swallows a CUT lets an old tail rise again:
        Raft sees that by its terms; one voter never cuts."""
        self.syncs = syncs
        """How often a log with an interval is synced, a step."""
        self.always = mistake != "" or self.rng.random() < 0.8
        self.operations: list[tuple] = []
        self.said: dict[tuple[int, int], list[list[bytes]]] = {}
        """By group and index: all that was ever appended there."""
        self.base: Model = {}
        """What was there when the log was opened."""
        self.committed = 0
        """How many of the operations the log called committed."""
        self.synced = 0
        """How many of them are promised to survive a power cut."""
        self.model: Model = {}
        self.last_write: tuple[int, int] = (0, 0)
        """Where the last round was written: file, offset."""
        self.is_marked = False
        self.is_hurt = False
        self.written = 0
        self.log = self.new_log()
        self.open()

    def new_log(self) -> Log:
        return Log(
            file_bytes=FILE_BYTES,
            round_bytes_max=1 << 14,
            salt=12345,
            syncs_always=self.always,
            keys=self.keys(),
        )

    def keys(self) -> Keys | None:
        """Return what a start encrypts with."""
        return None

    # -- the disk

    def names(self) -> dict[int, str]:
        return {int(name[:-4]): name for name in self.disk.names() if name.endswith(".log")}

    def perform_one(self, effect: tuple) -> None:
        match effect:
            case (Effect.RENAME, old, new):
                self.disk.rename(f"{old:010}.log", f"{new:010}.log")
            case (Effect.ALLOCATE, number, length):
                self.disk.allocate(f"{number:010}.log", length)
            case (Effect.SYNC_DIRECTORY,) if self.mistake != "directory not synced":
                self.disk.sync_directory()
            case (Effect.WRITE, number, offset, data):
                self.disk.write(f"{number:010}.log", offset, data)
                self.note_write(number, offset, data)
            case (Effect.SYNC, number) if self.mistake != "acknowledged before the sync":
                self.sync(f"{number:010}.log")
            case (Effect.REMOVE, number):
                self.disk.remove(f"{number:010}.log")
            case (Effect.KEEP, number):
                self.disk.rename(f"{number:010}.log", f"{number:010}.damaged")

    def sync(self, name: str) -> None:
        try:
            self.disk.sync(name)
        except OSError:
            if self.mistake != "sync tried again":
                raise
            self.disk.sync(name)

    def note_write(self, number: int, offset: int, data: bytes) -> None:
        head = data[HEADS:] if offset == 0 else data
        self.is_marked = len(data) == SECTOR and not ROUND_HEAD.unpack_from(head)[3]
        if not self.is_marked:
            self.last_write = (number, offset)
            self.written += 1

    def perform(self, effects: list[tuple], stop_at: int) -> bool:
        """Do a round; False: the machine stopped in it."""
        error = made_error = 0
        for at, effect in enumerate(effects):
            if at == stop_at:
                return False
            try:
                self.perform_one(effect)
            except OSError as problem:
                if effect[0] in {Effect.RENAME, Effect.ALLOCATE, Effect.SYNC_DIRECTORY}:
                    made_error = problem.errno
                else:
                    error = problem.errno
                    break
        self.log.round_done(error, made_error)
        return True

    # -- the work

    def settle(self) -> None:
        while effects := self.log.take_round():
            self.perform(effects, -1)

    def hear(self) -> None:
        for entry in self.log.committed():
            operation = self.operations[self.committed]
            demand(operation[1] == entry.group, "another operation is committed than was next")
            if operation[0] == "append":
                demand(entry.parts == operation[3], "committed with other bytes")
                demand(entry.kind == operation[2], "committed as another kind")
            self.committed += 1
        if self.always:
            self.synced = self.committed

    def say(self, accepted: object, *operation: object) -> None:
        if accepted:
            apply(self.model, len(self.operations), operation)
            self.operations.append(operation)
            if operation[0] == "append":
                _, group, _, parts = operation
                self.said.setdefault((group, self.model[group].last_index), []).append(parts)
        else:
            demand(self.log.refused in {Refused.BUSY, Refused.FULL, Refused.FAILED}, "refused")

    def part(self) -> bytes:
        rng = self.rng
        length = rng.choice((0, 1, 7, 20, 100, 500, 500, 1500, rng.randint(0, 6000)))
        if rng.random() < 0.01:
            length = FILE_BYTES + 5000
        return rng.randbytes(8) * (length // 8) + rng.randbytes(length % 8)

    def work(self) -> None:
        rng, log = self.rng, self.log
        if len(self.model) < rng.randint(1, 6):
            description = self.part()[:300]
            group = log.new_group(description)
            self.say(group, "open", group, description)
            return
        group = rng.choice(sorted(self.model))
        it = self.model[group]
        chance = rng.random()
        if chance < 0.85:
            kind = rng.choice((Kind.BATCH, Kind.BATCH, Kind.OP, Kind.CONSUMER))
            parts = [self.part() for _ in range(rng.choice((0, 1, 1, 2, 5)))]
            self.say(log.append(group, kind, parts), "append", group, kind, parts)
        elif chance < 0.90 and it.last_index > it.snapshot_index:
            index = rng.randint(it.snapshot_index + 1, it.last_index)
            state = rng.randbytes(20)
            done = log.snapshot(group, index, state, lacks=lacks(state))
            self.say(done, "snapshot", group, index, state)
        elif chance < 0.93 and self.cuts and it.last_index > it.snapshot_index:
            index = rng.randint(it.snapshot_index + 1, it.last_index)
            self.say(log.cut(group, index), "cut", group, index)
        elif chance < 0.94:
            description = rng.randbytes(5)
            done = log.describe_group(group, description)
            self.say(done, "describe", group, description)
        elif chance < 0.96:
            term = it.term + rng.randint(0, 1)
            self.say(log.vote(group, term, 7), "vote", group, term, 7)
        elif chance < 0.98:
            self.say(log.close_group(group), "close", group)
        else:
            self.keep_elsewhere()

    def keep_elsewhere(self) -> None:
        """As a store does: all groups begin anew, and older files are needed no more."""
        self.settle()
        self.hear()
        file = self.log.file
        for number, it in sorted(self.model.items()):
            state = self.rng.randbytes(9)
            done = self.log.snapshot(number, it.last_index, state, lacks=lacks(state))
            self.say(done, "snapshot", number, it.last_index, state)
            if not done:
                return
        self.settle()
        self.hear()
        if not self.log.failed and self.committed == len(self.operations):
            if not self.always:
                self.log.sync()
                self.settle()
            self.log.trim(file)

    # -- stops and starts

    def step(self) -> bool:
        """Work a little; False: the machine or the process stopped."""
        for _ in range(self.rng.randint(1, 6)):
            self.work()
        if not self.always and self.rng.random() < self.syncs:
            self.log.sync()
        for _ in range(self.rng.randint(0, 4)):
            effects = self.log.take_round()
            if effects is None:
                break
            stop_at = self.rng.randint(0, len(effects)) if self.rng.random() < 0.03 else -1
            if not self.perform(effects, stop_at):
                return False
        self.hear()
        return not self.log.failed

    def restart(self) -> None:
        if self.rng.random() < 0.5:
            self.disk.crash()
            promised = self.synced
        else:
            promised = self.committed
        self.open(promised)

    def open(self, promised: int = 0) -> None:
        self.log = self.new_log()
        for number, name in sorted(self.names().items()):
            data = self.disk.read(name)
            self.log.load(number, len(data))[:] = data
        self.log.recover()
        self.settle()
        entries = self.log.committed()
        if self.log.damage:
            demand(self.is_hurt, f"damage is reported where none is: {self.log.damage}")
            self.check_damaged(entries, promised)
        else:
            self.check_whole(entries, promised)

    def opened(self, entries: list) -> dict:
        found = {}
        for number in self.log.groups():
            it = self.log.group(number)
            found[number] = (head_of(it, is_lacking=it.lacks), {})
        for entry in entries:
            indexes = found[entry.group][1]
            demand(entry.index not in indexes, "an entry twice")
            demand(entry.index > max(indexes, default=0), "entries out of order")
            indexes[entry.index] = entry.parts
        return found

    def check_whole(self, entries: list, promised: int) -> None:
        found = self.opened(entries)
        model = copy.deepcopy(self.base)
        for order, operation in enumerate(self.operations[:promised]):
            apply(model, order, operation)
        kept = promised
        while seen_of(model) != found:
            demand(kept < len(self.operations), "what is there is not what was promised")
            apply(model, kept, self.operations[kept])
            kept += 1
        self.base = self.model = model
        self.model = copy.deepcopy(model)
        self.operations.clear()
        self.committed = self.synced = 0

    def check_damaged(self, entries: list, promised: int) -> None:
        """What was promised and is not there is reported; what is there was said."""
        damage = self.log.damage
        found = self.opened(entries)
        model = copy.deepcopy(self.base)
        for order, operation in enumerate(self.operations[:promised]):
            apply(model, order, operation)
        wanted = seen_of(model)
        for number, (_, indexes) in found.items():
            for index, parts in indexes.items():
                demand(parts in self.said[number, index], "damage gives other bytes")
        is_vague = any(it.reason in WITHOUT_PLACE for it in damage)
        for number, (_, indexes) in wanted.items():
            missing = set(indexes) - set(found.get(number, ((), {}))[1])
            named = {
                index
                for it in damage
                if it.group == number
                for index in range(it.first_index, it.last_index + 1)
            }
            demand(is_vague or missing <= named, f"lost and not named: {missing - named}")

    def run(self) -> None:
        rng = self.rng
        for _ in range(STEPS):
            chance = rng.random()
            if chance < 0.02:
                self.disk.sync_fails = errno.EIO
            elif chance < 0.04:
                self.disk.size_bytes = rng.choice((0, 1 << 18, 1 << 40))
            if not self.step() or rng.random() < 0.08:
                self.disk.sync_fails = 0
                self.disk.size_bytes = 1 << 40
                self.restart()

    def run_hurt(self) -> None:
        """Run, then hurt the files once, where the log can know that they were synced."""
        self.run()
        self.disk.sync_fails = 0
        self.disk.size_bytes = 1 << 40
        if self.log.failed:
            self.restart()
        if self.rng.random() < 0.3:
            self.lie()
        self.settle()
        self.log.sync()
        self.settle()
        self.hear()
        if not (self.always or self.is_marked):
            return  # a start, or a file that is full to its end: nothing says yet what was synced
        self.hurt()
        self.is_hurt = True
        self.open(self.committed)
        if self.log.damage:
            damage = self.log.damage
            self.open_again(damage)

    def open_again(self, damage: list) -> None:
        """It is still damaged tomorrow."""
        log = self.new_log()
        for number, name in sorted(self.names().items()):
            data = self.disk.read(name)
            log.load(number, len(data))[:] = data
        log.recover()
        demand(log.damage[: len(damage)] == damage, "damage is forgotten")

    def lie(self) -> None:
        """Let the disk leave out or misplace a sector of a round that is not the last one."""
        self.is_hurt = True
        setattr(self.disk, self.rng.choice(("write_is_dropped", "write_is_misdirected")), True)
        written = self.written
        while self.written < written + 3 and not self.log.failed:
            self.work()
            self.settle()
            self.hear()

    def places(self) -> list[tuple[str, int]]:
        """Return the sectors that are known to be synced, of files that are needed."""
        last_file, last_offset = self.last_write
        return [
            (name, sector)
            for number, name in self.names().items()
            if self.log.first_file <= number <= last_file
            for sector in range(
                (last_offset if number == last_file else len(self.disk.read(name))) // SECTOR
            )
        ]

    def hurt(self) -> None:
        rng, places = self.rng, self.places()
        if not places:
            return
        name, sector = rng.choice(places)
        newest = max(other for other, _ in places)
        match rng.choice(("flip", "erase", "copy", "truncate", "missing")):
            case "flip":
                self.disk.flip(name, sector * SECTOR + rng.randrange(SECTOR), rng.randrange(8))
            case "erase":
                last = max(it for other, it in places if other == name)
                self.disk.erase(name, sector, min(rng.choice((1, 1, 8)), last - sector + 1))
            case "copy":
                self.disk.copy_sector(*rng.choice(places), name, sector)
            case "truncate" if name != newest:
                # Of the newest one nobody knows where it ended.
                self.disk.truncate(name, sector * SECTOR + rng.randrange(SECTOR))
            case "missing" if self.always and len({other for other, _ in places}) > 1:
                # With `interval`, what a lost file knew of the end of the one before is lost, too.
                first = min(other for other, _ in places)
                if name != newest or name == first:
                    self.disk.remove(name)


def signed(data: bytearray, at: int, end: int, number: int, offset: int) -> None:
    """Sum a head as if it had been written at a place."""
    place = struct.pack("<QQQ", 12345, number, offset)
    struct.pack_into("<I", data, at, checksum(data[at + 4 : end], checksum(place)))


def moved_round(data: bytes, offset: int, number: int, new_offset: int) -> bytes:
    """Return a round as it would be elsewhere: good, if checksums did not go over the place."""
    length, used = struct.unpack_from("<I", data, offset + 4)[0], data[offset + 40 : offset + 44]
    moved = bytearray(data[offset : offset + length])
    signed(moved, 0, 48, number, new_offset)
    at = 48
    while at < int.from_bytes(used, "little"):
        record_bytes, _, _, parts = struct.unpack_from("<IHHI", moved, at + 4)
        signed(moved, at, at + 40 + 8 * parts, number, new_offset + at)
        at += record_bytes
    return bytes(moved)


def test_a_checksum_without_the_place_is_found_out() -> None:
    """Behind the end stands what an earlier use of the file left: an old round, good where it was.

    Summed for where it stands now, as it were if the place was not in the sum, it is believed.
    """
    simulation = Simulation(1, cuts=False)
    simulation.always = True
    log = simulation.log = simulation.new_log()
    for name in simulation.disk.names():
        simulation.disk.remove(name)
    log.recover()
    simulation.settle()
    simulation.model.clear()
    simulation.base.clear()
    simulation.operations.clear()
    simulation.committed = simulation.synced = 0
    simulation.say(log.new_group(), "open", 1, b"")
    for word in (b"a", b"b", b"c", b"d"):
        parts = [word]
        simulation.say(log.append(1, Kind.BATCH, parts), "append", 1, Kind.BATCH, parts)
        simulation.settle()
        simulation.hear()
    number, name = log.file, simulation.names()[log.file]
    data = simulation.disk.read(name)
    first, end = HEADS + SECTOR, simulation.last_write[1] + SECTOR
    believed = moved_round(data, first, number, end)

    simulation.disk.write(name, end, data[first : first + SECTOR])
    simulation.open(simulation.committed)

    simulation.disk.write(name, end, believed)
    with pytest.raises(FoundError, match="where none is"):
        simulation.open(simulation.committed)


@pytest.mark.parametrize("block", range(6))
def test_what_was_committed_is_there(block: int) -> None:
    for seed in range(block, SEEDS, 6):
        try:
            Simulation(seed).run()
        except FoundError as found:
            pytest.fail(f"seed {seed}: {found}")


@pytest.mark.parametrize("seed", [46656, 91879, *range(200)])
def test_what_was_kept_of_a_round_is_there_when_the_next_file_is_lost(seed: int) -> None:
    Simulation(seed, syncs=0.02).run()


def test_what_was_torn_off_stays_so_when_the_file_that_said_so_is_lost() -> None:
    Simulation(4975, cuts=False).run_hurt()


@pytest.mark.parametrize("block", range(6))
def test_damage_is_reported(block: int) -> None:
    for seed in range(block, SEEDS, 6):
        try:
            Simulation(seed, cuts=False).run_hurt()
        except FoundError as found:
            pytest.fail(f"seed {seed}: {found}")


@pytest.mark.parametrize(
    "mistake",
    ["acknowledged before the sync", "directory not synced", "sync tried again"],
)
def test_mistakes_are_found(mistake: str) -> None:
    def run_all() -> None:
        for seed in range(SEEDS):
            Simulation(seed, mistake).run()

    with pytest.raises(FoundError):
        run_all()
