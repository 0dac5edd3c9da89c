"""A stream and a consumer of three servers, through whole clusters that seeds choose."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from framework_jetstream.engine.verbs import GroupOf, Verb
from framework_jetstream.raft.records import Change
from planted import Planted
from replicated_cluster import BeyondRepairError, ReplicatedCluster
from replicated_server import STREAM_GROUP
from typing_extensions import override

from raft_cluster import QUIET_MS  # isort: skip -- its folder is known by the import before
from raft_judge import BrokenError, demand  # isort: skip

if TYPE_CHECKING:
    from replicated_server import ReplicatedServer

SEEDS = 200
GROWING = 60
"""Of seeds where the stream is one server's at first."""
SCRUBBING = 80
"""Of seeds where servers read what nobody wants."""
HIDING = 80
"""Of seeds where servers lose something while others have damage that was not found."""
STORED = 400
"""Messages: the log gives up the first of them."""
PLANTED = 20
"""Of seeds in which one server applies something otherwise."""
DIFFERING = range(45, 70)
"""Seeds of these in which one does so again, once it has begun anew."""
PLANTED_AT = 40
"""Entries, of which one of the first is it."""
BEYOND_REPAIR_MAX = 2
"""Of a slice of these."""
CHUNK = 50
SLICE = 20
FAULTS = "stop", "split", "one way", "loss", "replay", "reorder", "late", "pause", "slow disk"

pytestmark = pytest.mark.sim


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_what_was_acknowledged_is_at_all_servers(first: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(first, first + CHUNK):
        try:
            cluster = ReplicatedCluster(seed).run()
        except Exception as broken:
            broken.add_note(f"again: ReplicatedCluster({seed}).run()")
            raise
        seen += cluster.faults + cluster.seen

    assert {
        *FAULTS,
        "wipe",
        "flip",
        "stored",
        "deleted",
        "settled",
        "led",
        "proposed",
        "compact",
        "trim",
        "step down",
        "updated",
        "save",
        "read",
        "fetch",
        "read log",
        "kept",
        "compared",
        "answered",
        "compressed",
    } <= set(seen)


@pytest.mark.parametrize("first", range(0, GROWING, SLICE))
def test_what_one_server_had_alone_is_at_all_servers_that_are_added(first: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(first, first + SLICE):
        try:
            cluster = ReplicatedCluster(seed, grows=True).run()
        except Exception as broken:
            broken.add_note(f"again: ReplicatedCluster({seed}, grows=True).run()")
            raise
        seen += cluster.faults + cluster.seen

    assert {
        *FAULTS,
        "stored",
        "settled",
        "led",
        "updated",
        "save",
        "fetch",
        "compared",
        "answered",
        "compressed",
    } <= set(seen)


@pytest.mark.parametrize("first", range(0, SCRUBBING, 2 * SLICE))
def test_damage_is_found_before_others_lose_what_it_took(first: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(first, first + 2 * SLICE):
        try:
            cluster = ReplicatedCluster(seed, scrubs=True).run()
        except Exception as broken:
            broken.add_note(f"again: ReplicatedCluster({seed}, scrubs=True).run()")
            raise
        seen += cluster.faults + cluster.seen

    assert {*FAULTS, "segment", "wipe", "flip"} <= set(seen)


@pytest.mark.parametrize("first", range(0, HIDING, 2 * SLICE))
def test_who_has_lost_something_gets_it_back_while_others_have_damage_too(first: int) -> None:
    """All agree; or nobody has all, or most have lost their logs: then nothing wrong is served."""
    seen: Counter[str] = Counter()
    for seed in range(first, first + 2 * SLICE):
        try:
            cluster = ReplicatedCluster(seed, hides=True).run()
        except BeyondRepairError:
            seen["beyond repair"] += 1
            continue
        except Exception as broken:
            broken.add_note(f"again: ReplicatedCluster({seed}, hides=True).run()")
            raise
        seen += cluster.faults + cluster.seen

    assert {*FAULTS, "segment", "wipe", "flip", "fetch", "read"} <= set(seen)
    assert seen["beyond repair"] <= BEYOND_REPAIR_MAX


@pytest.mark.parametrize("seed", [1223, 1846, 1872, 1911, 1915, 2141, 2142])
def test_seeds_in_which_a_state_with_something_missing_was_kept(seed: int) -> None:
    ReplicatedCluster(seed, scrubs=True).run()


@pytest.mark.parametrize("seed", [1947, 2267])
def test_seeds_in_which_who_was_cut_off_delivered_what_was_settled_elsewhere(seed: int) -> None:
    ReplicatedCluster(seed, scrubs=True).run()


@pytest.mark.parametrize("seed", [146, 173, 254, 256, 285, 505])
def test_seeds_in_which_a_server_had_all_and_could_not_give_it(seed: int) -> None:
    ReplicatedCluster(seed, hides=True).run()


def damaged(server: ReplicatedServer) -> None:
    """Flip a bit of a message in each segment of a server."""
    for name in server.segment_disk.names():
        at = server.segment_disk.read(name).find(b"Nats-Msg-Id")
        if at >= 0:  # the last one may say only what lives
            server.segment_disk.flip(name, at, 0)


def three_of_which_one_is_behind() -> ReplicatedCluster:
    """Return servers that have stored messages in segments, but for the third, which is down."""
    cluster = ReplicatedCluster(1, hides=True)
    cluster.loss = cluster.replay = cluster.straggle = 0
    for server in cluster.servers.values():
        server.segment_bytes, server.small_bytes, server.cache_bytes = 1500, 0, 0
        server.unsaid_max_ns = 0
    cluster.start(1)
    cluster.start(2)
    assert cluster.run_until(5000, lambda: bool(cluster.leaders()))
    leader = cluster.leaders()[0]
    while cluster.published < STORED:
        cluster.store(leader, 20)
    assert all(len(cluster.servers[it].segment_disk.names()) > 10 for it in (1, 2))
    return cluster


def test_who_gives_a_state_that_others_refuse_finds_out_that_it_is_damaged() -> None:
    """A leader has damage that nobody has read; it alone is asked for the state, by who is new."""
    cluster = three_of_which_one_is_behind()
    leader = cluster.leaders()[0]
    whole = cluster.servers[3 - leader.id]
    damaged(leader)
    cluster.stop(whole.id)
    assert not cluster.lacks(leader, GroupOf.STREAM)[0]

    leader.is_hurt = True
    cluster.start(3)
    is_found = cluster.run_until(
        cluster.now_ms + 20_000, lambda: cluster.lacks(leader, GroupOf.STREAM)[0]
    )
    assert is_found, "it gives what is damaged for ever"
    cluster.start(whole.id)
    cluster.heal()
    assert cluster.run_until(cluster.now_ms + 20_000, cluster.agree), cluster.state()
    cluster.check()


def test_a_state_comes_from_the_leader_where_others_can_not_give_it() -> None:
    """A follower has damage that was found, and says first to who lost its disk that it has one."""
    cluster = three_of_which_one_is_behind()
    leader = cluster.leaders()[0]
    other = cluster.servers[3 - leader.id]
    damaged(other)
    other.is_hurt = cluster.servers[3].is_hurt = True
    cluster.messages_of(other, cluster.last_seq_of(other))
    assert cluster.lacks(other, GroupOf.STREAM)[0]

    cluster.start(3)
    cluster.heal()
    assert cluster.run_until(cluster.now_ms + 20_000, cluster.agree), cluster.state()
    cluster.check()


def test_what_others_can_not_fetch_is_written_again_though_nothing_has_happened_since() -> None:
    """What stands beside messages is damaged, in a state behind which nothing can be committed."""
    cluster = three_of_which_one_is_behind()
    leader = cluster.leaders()[0]
    while not is_saved(cluster, leader):
        assert cluster.published < 2 * STORED, "it is not saved"
        cluster.store(leader, 3)
    name = min(leader.segment_disk.names())
    leader.segment_disk.flip(name, len(leader.segment_disk.read(name)) - 1, 0)
    leader.is_hurt = True
    cluster.stop(3 - leader.id)

    cluster.start(3)
    new = cluster.servers[3]
    assert cluster.run_until(
        cluster.now_ms + 20_000, lambda: cluster.last_seq_of(new) == cluster.published
    )
    assert name not in leader.segment_disk.names()
    assert not cluster.lacks(leader, GroupOf.STREAM)[0]
    cluster.heal()
    assert cluster.run_until(cluster.now_ms + 20_000, cluster.agree), cluster.state()
    cluster.check()


@pytest.mark.parametrize("members", [3, 1])
def test_a_consumer_is_led_elsewhere_where_its_stream_has_left(members: int) -> None:
    """A server that belongs to the stream no more gets nothing of it that was delivered since."""
    cluster = ReplicatedCluster(1, hides=True)
    cluster.loss = cluster.replay = cluster.straggle = 0
    for server in cluster.servers.values():
        cluster.start(server.id)
    assert cluster.run_until(5000, lambda: bool(cluster.leaders() and led_consumer(cluster)))
    leader = cluster.leaders()[0]
    others = [it for it in cluster.servers.values() if it is not leader]
    gone = others[0]
    assert change(cluster, leader, GroupOf.STREAM, Change.REMOVE, gone.id)
    hand_over(cluster, leader.id)
    cluster.store(leader, 3)
    leader.pull()
    cluster.pump(leader)
    cluster.run_until(cluster.now_ms + 500)

    assert cluster.last_seq_of(leader) > cluster.last_seq_of(gone)
    assert leader.delivered
    hand_over(cluster, gone.id)
    assert led_consumer(cluster) is None
    for it in (leader, others[1]) if members == 1 else ():
        assert cluster.run_until(
            cluster.now_ms + 100,
            lambda it=it: change(cluster, gone, GroupOf.CONSUMER, Change.REMOVE, it.id),
        )

    def is_led() -> bool:
        due, gone.after = gone.after, []
        for then in due:
            then()
        return led_consumer(cluster) is not None

    assert cluster.run_until(cluster.now_ms + 5000, is_led)
    assert led_consumer(cluster) is not gone


def change(
    cluster: ReplicatedCluster, leader: ReplicatedServer, of: GroupOf, how: Change, server: int
) -> bool:
    """Change the members of a group; False: not now."""
    number = leader.stream if of is GroupOf.STREAM else leader.consumer
    told = cluster.answer_of(leader, Verb.CHANGE_MEMBER, of, how, server, number=number)
    return told[0] == 0


def led_consumer(cluster: ReplicatedCluster) -> ReplicatedServer | None:
    """Return who leads the consumer, and has begun to."""
    return next((it for it in cluster.servers.values() if it.leads_consumer), None)


def hand_over(cluster: ReplicatedCluster, to: int) -> None:
    """Let a server lead the consumer."""
    if (leader := led_consumer(cluster)) is not None and leader.id != to:
        numbers = (GroupOf.CONSUMER, to)
        leader.ask(Verb.STEP_DOWN, leader.consumer, numbers=numbers)
        cluster.pump(leader)
        cluster.run_until(cluster.now_ms + 1000, lambda: leader is not led_consumer(cluster))


def is_saved(cluster: ReplicatedCluster, server: ReplicatedServer) -> bool:
    """Return whether all that a server has of the stream is in segments."""
    numbers = cluster.answer_of(server, Verb.GROUP_STATE, GroupOf.STREAM)[1]
    return numbers[6] == numbers[2]


@pytest.mark.parametrize("mistake", ["not synced", "not followed", "segments are not synced"])
def test_a_mistake_is_found(mistake: str) -> None:
    found = 0
    for seed in range(30):
        try:
            ReplicatedCluster(seed, mistake, grows=mistake == "not followed").run()
        except BrokenError:
            found += 1

    assert found >= 5


class DifferingCluster(ReplicatedCluster):
    """Servers of which one applies something otherwise, until all have the last message.

    Args:
        difference: As of `Planted`.
        seed: Chooses everything else.
    """

    def __init__(self, difference: str, seed: int) -> None:
        super().__init__(seed)
        for it in self.older:
            self.servers[it].settings = self.settings
        self.older.clear()
        self.plant(Planted(difference, 1 + seed % 3, STREAM_GROUP, 5 + seed % PLANTED_AT))
        self.judge.lets_differ = True

    def odd(self) -> set[int]:
        """Return the servers that have come to something else than who leads now."""
        leader = self.leaders()[0]
        return {it.id for it in self.servers.values() if it.digest != leader.digest}

    def said(self) -> set[int]:
        """Return those of which that one says so."""
        return self.judge.differing.get(self.leaders()[0].id, set())

    @override
    def agree(self) -> bool:
        """Whether all have applied the same entries, whatever these have led to."""
        found = {
            self.answer_of(it, Verb.GROUP_STATE, GroupOf.STREAM)[1][2:5]
            for it in self.servers.values()
        }
        is_settled = len(found) == 1 and len(set(found.pop())) == 1
        is_whole = all(self.is_whole(it) and not it.lacks for it in self.servers.values())
        return is_settled and is_whole and bool(self.leaders())

    @override
    def lose(self) -> None:
        """Lose no disk: who is repaired counts for nothing meanwhile, as who has lost one."""

    def barriers(self) -> dict[int, int]:
        """Return the barrier of each server that has begun anew since its last start."""
        states = {
            it.id: self.answer_of(it, Verb.GROUP_STATE, GroupOf.STREAM)[1]
            for it in self.servers.values()
        }
        return {it: numbers[14] for it, numbers in states.items() if numbers[14]}

    def is_settled(self) -> bool:
        """Whether all have the same, or the odd one has begun anew, and applied it otherwise again.

        It has if it got the entry once more, and not what it has led to.
        """
        if not self.agree() or self.odd() != self.said():
            return False
        alone = self.odd() if len(self.odd()) == 1 else {self.leaders()[0].id}
        return not self.odd() or alone <= set(self.barriers())

    @override
    def check(self) -> None:
        """See that all have the same in the end, and that nothing goes on without end."""
        is_settled = self.run_until(self.now_ms + QUIET_MS, self.is_settled)
        demand(is_settled, f"{self.odd()} differ, and it is said of {self.said()}")
        self.seen["differ"] += bool(self.odd())
        self.seen["repaired"] += bool(self.judge.said and not self.odd())
        # Who has begun anew for another reason may do so for this one.
        demand(self.rests() or self.rests(), "somebody begins anew again, or it is said again")

    def rests(self) -> bool:
        """Return whether nobody begins anew, nor is said to differ, while nothing comes."""
        before = self.judge.said, self.barriers()
        self.run_until(self.now_ms + QUIET_MS)
        demand(self.is_settled(), f"{self.odd()} differ, and it is said of {self.said()}")
        return before == (self.judge.said, self.barriers())


@pytest.mark.parametrize("difference", ["payload", "less"])
def test_a_server_that_has_come_to_differ_becomes_what_most_are(difference: str) -> None:
    """It does so once: one that goes on deciding otherwise is only said to differ then."""
    seen: Counter[str] = Counter()
    for seed in DIFFERING:
        try:
            seen += DifferingCluster(difference, seed).run().seen
        except Exception as broken:
            broken.add_note(f"again: DifferingCluster({difference!r}, {seed}).run()")
            raise

    assert {"differ", "repaired"} <= set(seen)


@pytest.mark.parametrize("difference", ["payload", "less"])
def test_a_server_that_has_come_to_differ_is_found(difference: str) -> None:
    """One message is another one at one server, or is not stored there; from then on it differs.

    Unless it gets all of the stream from another server, which has what the others have.
    """
    found = 0
    for seed in range(PLANTED):
        cluster = ReplicatedCluster(seed)
        cluster.plant(Planted(difference, 1 + seed % 3, STREAM_GROUP, 5 + seed))
        try:
            cluster.run()
        except BrokenError as broken:
            demand("have come to differ at entry" in str(broken), f"seed {seed}: {broken}")
            found += 1

    assert found >= PLANTED // 4
