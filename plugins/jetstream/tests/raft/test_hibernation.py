"""A group that is idle says nothing, and sees all that goes wrong as soon as one that is awake."""

from __future__ import annotations

import sys
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from framework_jetstream.raft._raftface import read_frame
from framework_jetstream.raft.records import Flag, FrameRefused, Message, MessageKind, Role
from raft_cluster import TICK_MS, Cluster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

MEMBERS = 1, 2, 3
SETTLED_MS = 5000
ELECTED_MS = 900
"""Two election timeouts of 6 ticks, a heartbeat, and what a slow clock and the network add."""


class Still(Cluster):
    """Three servers to which nothing happens but what a test does."""

    def __init__(self, seed: int, old: Iterable[int] = ()) -> None:
        super().__init__(seed, len(MEMBERS))
        self.said: Counter[MessageKind] = Counter()
        self.frames: list[tuple[int, int, bytes]] = []
        """That were sent."""
        self.drops: Callable[[int, int, Message], bool] = lambda *_: False
        """Whether the network loses frames with a message."""
        self.delay_ms = 5
        self.is_faulty = False
        for server_id in MEMBERS:
            self.servers[server_id].hibernates = server_id not in old
            self.start(server_id)

    def send(self, sender: int, to: int, frame: bytes) -> None:
        if (sender, to) in self.blocked:
            return
        messages = read_frame(frame, sender, to)
        assert not isinstance(messages, FrameRefused)
        self.said.update(MessageKind(it.kind) for it in messages)
        self.frames.append((sender, to, frame))
        if any(self.drops(sender, to, it) for it in messages):
            return
        super().send(sender, to, frame)

    def members(self) -> list:
        return [self.servers[it].group for it in MEMBERS if self.servers[it].is_up]

    def sleeps(self) -> bool:
        return all(it.is_hibernating for it in self.members())

    def asleep(self) -> Still:
        assert self.run_until(self.now_ms + SETTLED_MS, self.sleeps), self.state()
        return self

    def passes(self, ms: float) -> None:
        self.run_until(self.now_ms + ms)

    def differing(self, leader: int) -> list[int]:
        """Return where entries have led to something else, as a leader knows it."""
        group = self.servers[leader].group
        found = {it: group.peer(it) for it in MEMBERS}
        return [it for it, peer in found.items() if peer is not None and peer.differs]

    def elects(self, but: int) -> bool:
        """Whether another than one leads soon."""
        return self.run_until(
            self.now_ms + ELECTED_MS, lambda: any(it.id != but for it in self.leaders())
        )


def is_plain_heartbeat(frame: bytes, sender: int, to: int) -> bool:
    """Whether a frame says that somebody leads, and nothing of hibernation."""
    messages = read_frame(frame, sender, to)
    assert not isinstance(messages, FrameRefused)
    return all(it.kind == MessageKind.HEARTBEAT and not it.flags for it in messages)


def asks(frame: bytes, sender: int, to: int) -> bool:
    """Whether a frame asks what entries have led to."""
    messages = read_frame(frame, sender, to)
    assert not isinstance(messages, FrameRefused)
    return any(
        it.kind == MessageKind.APPEND and bool(it.context) and not it.entries for it in messages
    )


@pytest.fixture(params=range(8))
def cluster(request: pytest.FixtureRequest) -> Still:
    return Still(request.param).asleep()


def test_an_idle_group_says_nothing_and_servers_say_beat(cluster: Still) -> None:
    cluster.said.clear()
    cluster.passes(10_000)

    assert set(cluster.said) == {MessageKind.BEAT}
    assert cluster.sleeps()


def test_another_leads_when_the_leader_is_gone(cluster: Still) -> None:
    leader = cluster.leader_id()
    cluster.stop(leader)

    assert cluster.elects(but=leader)


def test_a_leader_that_was_started_again_is_not_taken_for_the_one_before(cluster: Still) -> None:
    leader = cluster.leader_id()
    cluster.stop(leader)
    cluster.passes(10)
    cluster.start(leader)

    assert cluster.run_until(cluster.now_ms + 2 * ELECTED_MS, cluster.leaders)
    assert cluster.asleep()


def test_a_follower_that_was_started_again_takes_part(cluster: Still) -> None:
    leader = cluster.leader_id()
    follower = next(it for it in MEMBERS if it != leader)
    cluster.stop(follower)
    cluster.passes(10)
    cluster.start(follower)
    cluster.asleep()

    assert cluster.leader_id() == leader


def test_a_leader_that_hears_nobody_leads_no_more(cluster: Still) -> None:
    leader = cluster.leader_id()
    cluster.blocked = {(it, leader) for it in MEMBERS}

    assert cluster.elects(but=leader)
    assert cluster.run_until(
        cluster.now_ms + ELECTED_MS, lambda: cluster.servers[leader].group.role is not Role.LEADER
    )


def test_a_leader_that_nobody_hears_leads_no_more(cluster: Still) -> None:
    leader = cluster.leader_id()
    cluster.blocked = {(leader, it) for it in MEMBERS}

    assert cluster.elects(but=leader)


def test_a_leader_that_is_paused_is_replaced(cluster: Still) -> None:
    leader = cluster.leader_id()
    server = cluster.servers[leader]
    server.is_paused = True
    cluster.after(1500, cluster.resume, leader, server.starts)

    assert cluster.elects(but=leader)
    cluster.passes(2000)
    cluster.asleep()


def test_a_follower_that_hears_nothing_wakes_the_group_and_changes_nothing(cluster: Still) -> None:
    leader = cluster.leader_id()
    term = cluster.servers[leader].group.term
    follower = next(it for it in MEMBERS if it != leader)
    cluster.blocked = {(it, follower) for it in MEMBERS}
    cluster.passes(2000)

    assert not cluster.servers[leader].group.is_hibernating
    assert not cluster.servers[follower].group.is_hibernating
    cluster.blocked.clear()
    cluster.asleep()
    assert (cluster.leader_id(), cluster.servers[leader].group.term) == (leader, term)


def test_what_is_proposed_wakes_the_group(cluster: Still) -> None:
    leader = cluster.servers[cluster.leader_id()]
    index = leader.group.propose(b"awake")
    cluster.pump(leader)

    assert not leader.group.is_hibernating
    assert cluster.run_until(
        cluster.now_ms + 200, lambda: all(it.commit == index for it in cluster.members())
    )
    cluster.asleep()


def test_what_entries_have_led_to_is_compared_before_the_group_sleeps(cluster: Still) -> None:
    leader = cluster.servers[cluster.leader_id()]
    index = leader.group.propose(b"awake")
    cluster.pump(leader)
    assert cluster.run_until(
        cluster.now_ms + 200, lambda: all(it.commit == index for it in cluster.members())
    )
    odd = next(it for it in MEMBERS if it != leader.id)
    leader.group.led_to(index, 9)
    cluster.servers[odd].group.led_to(index, 8)
    cluster.frames.clear()
    cluster.asleep()

    asked = [to for sender, to, frame in cluster.frames if asks(frame, sender, to)]
    assert set(asked) == set(MEMBERS) - {leader.id}
    assert cluster.differing(leader.id) == [odd]
    cluster.frames.clear()
    cluster.passes(10_000)
    assert not any(asks(frame, sender, to) for sender, to, frame in cluster.frames)


def test_no_lease_rests_on_beats(cluster: Still) -> None:
    leader = cluster.servers[cluster.leader_id()]
    cluster.passes(1000)

    assert not leader.group.has_lease
    done = cluster.judge.reads_done
    cluster.read(leader)
    cluster.pump(leader)
    assert cluster.run_until(cluster.now_ms + 200, lambda: cluster.judge.reads_done > done)
    assert leader.group.has_lease


def test_leadership_is_handed_over(cluster: Still) -> None:
    leader = cluster.leader_id()
    heir = next(it for it in MEMBERS if it != leader)
    assert cluster.servers[leader].group.transfer(heir)
    cluster.pump(cluster.servers[leader])

    assert cluster.run_until(cluster.now_ms + 300, lambda: cluster.leader_id() == heir)
    cluster.asleep()
    assert cluster.leader_id() == heir


def test_who_leads_as_the_leader_before_wanted_it_knows_that(cluster: Still) -> None:
    leader = cluster.leader_id()
    heir = next(it for it in MEMBERS if it != leader)
    assert cluster.servers[leader].group.transfer(heir)
    cluster.pump(cluster.servers[leader])
    group = cluster.servers[heir].group

    assert cluster.run_until(cluster.now_ms + 300, lambda: group.role is Role.LEADER)
    assert group.is_handed_over


def test_who_stood_because_nobody_led_was_not_handed_anything(cluster: Still) -> None:
    leader = cluster.leader_id()
    cluster.stop(leader)

    assert cluster.elects(leader)
    assert not any(it.group.is_handed_over for it in cluster.leaders())


def test_a_clock_that_jumps_changes_nothing(cluster: Still) -> None:
    leader = cluster.leader_id()
    term = cluster.servers[leader].group.term
    follower = next(it for it in MEMBERS if it != leader)
    cluster.servers[follower].group.tick(86_400_000 // TICK_MS)
    cluster.pump(cluster.servers[follower])
    cluster.passes(1000)
    cluster.asleep()

    assert cluster.servers[leader].group.term == term


def test_who_hears_only_beats_of_a_leader_that_leads_no_more_wakes_up(cluster: Still) -> None:
    leader = cluster.leader_id()
    heir, deaf = (it for it in MEMBERS if it != leader)
    cluster.drops = lambda _, to, it: to == deaf and it.kind != MessageKind.BEAT
    assert cluster.servers[leader].group.transfer(heir)
    cluster.pump(cluster.servers[leader])

    assert cluster.run_until(
        cluster.now_ms + ELECTED_MS, lambda: not cluster.servers[deaf].group.is_hibernating
    )


def test_a_leader_rests_on_nobody_who_has_not_said_so(cluster: Still) -> None:
    leader = cluster.servers[cluster.leader_id()]
    silent = next(it for it in MEMBERS if it != leader.id)
    is_answer = MessageKind.HEARTBEAT_RESPONSE
    cluster.drops = lambda sender, _, it: (
        sender == silent and it.kind == is_answer and bool(it.flags & Flag.HIBERNATE)
    )
    leader.group.propose(b"awake")
    cluster.pump(leader)
    cluster.passes(SETTLED_MS)

    assert leader.group.role is Role.LEADER
    assert not leader.group.is_hibernating


def test_what_comes_late_wakes_nobody(cluster: Still) -> None:
    leader = cluster.servers[cluster.leader_id()]
    follower = next(it for it in MEMBERS if it != leader.id)
    late = [
        frame
        for sender, to, frame in cluster.frames
        if (sender, to) == (leader.id, follower) and is_plain_heartbeat(frame, sender, to)
    ]
    cluster.servers[follower].group.step(leader.id, late[-1])
    cluster.pump(cluster.servers[follower])

    assert cluster.servers[follower].group.is_hibernating
    cluster.passes(2000)
    assert cluster.sleeps()


def test_no_group_hibernates_while_a_member_lacks_entries(cluster: Still) -> None:
    leader = cluster.servers[cluster.leader_id()]
    lacking = next(it for it in MEMBERS if it != leader.id)
    cluster.drops = lambda _, to, it: to == lacking and it.kind == MessageKind.APPEND
    index = leader.group.propose(b"awake")
    cluster.pump(leader)
    cluster.passes(SETTLED_MS)

    assert not leader.group.is_hibernating
    cluster.drops = lambda *_: False
    cluster.asleep()
    assert cluster.servers[lacking].group.commit == index


def test_no_group_hibernates_with_a_member_that_does_not_know_of_it() -> None:
    cluster = Still(3, old=[2])
    cluster.passes(SETTLED_MS)

    assert cluster.leaders()
    assert not any(it.is_hibernating for it in cluster.members())
    assert MessageKind.HEARTBEAT in cluster.said


def checks() -> list[Callable[[], object]]:
    """Return all that is tested here, as calls."""
    named = [it for name, it in globals().items() if name.startswith("test_")]
    alone = [test_no_group_hibernates_with_a_member_that_does_not_know_of_it]
    many = [partial(_check, it, seed) for it in named if it not in alone for seed in range(3)]
    return [*alone, *many]


def _check(test: Callable[[Still], object], seed: int) -> None:
    test(Still(seed).asleep())
