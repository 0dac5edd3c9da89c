"""Servers with the machine of the meta group, and a log that a seed commits, loses and repeats.

One of them again: `MetaWorld(SEED).run()`. The log is what Raft promises and no more: of what a
leader has proposed, a part is committed when it loses its office, and the rest is gone; a server
applies what is committed when it likes, or takes up a snapshot of another one in its place.
"""

from __future__ import annotations

import random
from collections import Counter

from framework_jetstream.api.errors import ApiFailure
from framework_jetstream.cluster.said_again import SaidAgain
from framework_jetstream.meta.assignments import (
    Asset,
    ConsumerAssignment,
    Group,
    ServerRecord,
    StreamAssignment,
)
from framework_jetstream.meta.choices import Rules
from framework_jetstream.meta.effects import Answer, ChangeAsset, StartAsset, StopAsset
from framework_jetstream.meta.entries import envelope_from_bytes
from framework_jetstream.meta.fleet import Fleet, Sighting
from framework_jetstream.meta.leader import Existing, MetaLeader
from framework_jetstream.meta.machine import MetaMachine
from framework_jetstream.meta.view import GroupState
from framework_jetstream.placement.records import PlacementRequest
from meta_model import MetaModel

STEPS = 400
NAMES = tuple("abc")
MISTAKES = (
    "applies twice",
    "deletes what came back",
    "forgets what it decided",
)


class BrokenError(Exception):
    """Something is not as it must be."""


def demand(is_so, what):
    if not is_so:
        raise BrokenError(what)


class Server:
    """A machine, and what its effects have come to."""

    def __init__(self, world, peer):
        self.world = world
        self.peer = peer
        self.start = 0
        self.index = self.reached = 0
        """Of the last entry that was applied, since the start and ever."""
        self.saved = None
        self.running = {}
        self.data = {}
        """By group: the index of the `StartAsset` that made it."""
        self.answers = Counter()
        self.begin()

    def begin(self):
        """Start: the snapshot is read, then the log behind it."""
        self.start += 1
        self.machine = MetaMachine(self.peer, self.start)
        self.running = {}
        self.index = 0
        self.said_again = SaidAgain(lambda effect, _: self.take(effect))
        if self.saved is not None:
            self.restore(self.saved)
        self.look()

    @property
    def state(self):
        return self.machine.state

    def restore(self, snapshot):
        """Take up a state."""
        self.perform(self.machine.restore(snapshot))
        self.index = self.machine.state.index

    def look(self):
        """Let pass what was said again, if that is all that was applied before the start."""
        self.reached = max(self.reached, self.index)
        is_all = self.world.mistake == "deletes what came back" or self.index == self.reached
        at = self.reached if is_all else self.index
        self.said_again.take_state(
            GroupState(leader="one", term=1, last_term=1, last_index=self.reached, applied=at)
        )

    def apply(self, count):
        """Apply the next entries that are committed."""
        for index, data in self.world.committed[self.index : self.index + count]:
            self.index = index
            if data:
                self.perform(self.machine.apply(index, data))
                if self.world.mistake == "applies twice" and self.world.random.random() < 0.1:
                    self.machine.state.index -= 1
                    self.perform(self.machine.apply(index, data))
            else:
                self.machine.state.index = index
            self.look()

    def perform(self, effects):
        for effect in effects:
            match effect:
                case StartAsset() | ChangeAsset() | StopAsset():
                    self.said_again.take(effect, self.index)
                case Answer(number, outcome):
                    self.answers[self.start, number] += 1
                    self.world.seen[f"answer: {outcome.value}"] += 1

    def take(self, effect):
        """Do what is to be done with an asset; its data outlives a restart."""
        match effect:
            case StartAsset(index, asset, group):
                self.running[asset] = group.name
                self.data.setdefault(group.name, index)
            case ChangeAsset(asset, group):
                demand(self.running.get(asset) == group.name, f"{asset} does not run")
            case StopAsset(_, asset, name, why):
                self.running.pop(asset, None)
                self.world.seen[f"stop: {why.value}"] += 1
                since = self.data.get(name)
                if since is not None and effect.may_delete:
                    del self.data[name]
                    self.world.deleted(self, name, since)

    def check(self):
        expected = {
            asset: found.group.name
            for asset, found in self.state.assets()
            if self.peer in found.group.hosts
        }
        demand(self.running == expected, f"{self.peer} runs {self.running}, not {expected}")
        demand(set(expected.values()) <= set(self.data), "what runs has data")
        for (start, number), count in self.answers.items():
            times = self.world.times[self.peer, start, number]
            demand(count <= times, f"{number} answered {count} times, proposed {times} times")


class MetaWorld:
    def __init__(self, seed, mistake=""):
        self.random = random.Random(seed)
        self.mistake = mistake
        self.committed = []
        self.pending = []
        self.term = 0
        self.now_ns = 0
        self.leader = None
        self.office = None
        self.lost = []
        self.times = Counter()
        self.last = None
        self.created = 0
        self.drawn = 0
        self.seen = Counter()
        self.model = MetaModel()
        self.fleet = Fleet()
        self.peers = [f"p{n}" for n in range(self.random.randint(3, 6))]
        self.servers = {peer: Server(self, peer) for peer in self.peers}

    def run(self):
        steps = {
            self.ask: 14,
            self.commit: 8,
            self.apply: 12,
            self.elect: 1,
            self.repeat: 1,
            self.take_snapshot: 1,
            self.save: 2,
            self.restart: 1,
        }
        self.elect()
        for peer in self.peers:
            self.put_server(peer)
        for _ in range(STEPS):
            (step,) = self.random.choices(list(steps), list(steps.values()))
            self.seen[step.__name__] += 1
            step()
        self.end()
        return self

    # -- the log ---------------------------------------------------------------------------------

    def elect(self):
        """Let another server lead; of what was proposed, a part is committed."""
        kept = self.random.randint(0, len(self.pending))
        lost = self.pending[kept:]
        self.lost += [data for _, data in lost if data]
        self.seen["lost"] += len(lost)
        self.pending = self.pending[:kept]
        self.commit_all()
        if self.office is not None:
            self.office.leave_office()
        self.term += 1
        self.leader = self.random.choice(list(self.servers.values()))
        self.pending.append((len(self.committed) + 1, b""))
        self.commit_all()
        self.leader.apply(len(self.committed))
        self.office = MetaLeader(
            self.leader.machine,
            start=self.leader.start,
            fleet=self.fleet,
            rules=Rules(),
            draw=self.draw,
            request_of=request_of,
        )
        demand(self.office.take_office(), "knows all entries")

    def draw(self):
        self.drawn += 1
        return f"{self.drawn:08}"

    def propose(self, proposal):
        self.last = proposal
        index = self.append(proposal.data)
        if self.mistake != "forgets what it decided":
            self.office.proposed(proposal, index)

    def append(self, data):
        index = len(self.committed) + len(self.pending) + 1
        self.pending.append((index, data))
        by = envelope_from_bytes(data).by
        self.times[by.peer, by.start, by.number] += 1
        return index

    def commit(self):
        count = self.random.randint(0, len(self.pending))
        for index, data in self.pending[:count]:
            self.committed.append((index, data))
            self.model.apply(index, data)
        del self.pending[:count]

    def commit_all(self):
        while self.pending:
            self.commit()

    def repeat(self):
        """Propose once more what was proposed, or lost, before."""
        if self.last is None or self.leader is None:
            return
        if self.lost and self.random.random() < 0.5:
            data = self.random.choice(self.lost)
            self.office._forecast.apply(self.append(data), data)
        else:
            self.propose(self.last)

    # -- servers ---------------------------------------------------------------------------------

    def apply(self):
        self.random.choice(list(self.servers.values())).apply(self.random.randint(1, 8))

    def take_snapshot(self):
        """Let a server take up the state of another one that is further."""
        giver, taker = self.random.sample(list(self.servers.values()), 2)
        if giver.state.index > taker.state.index:
            taker.saved = giver.machine.snapshot()
            taker.restore(taker.saved)
            taker.look()
            self.seen["restored"] += 1

    def save(self):
        server = self.random.choice(list(self.servers.values()))
        server.saved = server.machine.snapshot()

    def restart(self):
        server = self.random.choice(list(self.servers.values()))
        server.begin()
        if server is self.leader:
            self.elect()

    def deleted(self, server, name, since):
        """Data goes: an entry has said so since it was made."""
        gone = self.model.gone.get((name, server.peer), 0)
        demand(gone > since, f"{server.peer} deletes {name} of {since}: last said at {gone}")

    # -- requests --------------------------------------------------------------------------------

    def put_server(self, peer):
        self.fleet.hear(peer, Sighting(heard_ns=self.now_ns))
        cluster = "east" if peer < "p3" else "west"
        record = ServerRecord(
            peer=peer, name=peer, cluster=cluster, memory_bytes=1000, storage_bytes=1000
        )
        if proposal := self.office.put_server(record):
            self.propose(proposal)

    def ask(self):
        ask = self.random.choice((
            self.create,
            self.create,
            self.create_consumer,
            self.create_consumer,
            self.configure,
            self.scale,
            self.scale,
            self.scale_consumer,
            self.move,
            self.move,
            *[self.finish] * 6,
            self.cancel,
            self.replace,
            self.remove,
            self.remove_server,
            self.do_duties,
        ))
        try:
            decided = ask(self.asset())
        except ApiFailure as refusal:
            self.seen[f"refused: {refusal.error.err_code}"] += 1
            return
        if isinstance(decided, Existing) or decided is None:
            return
        self.seen[ask.__name__] += 1
        self.propose(decided)

    def asset(self):
        known = [it for it, _ in self.office.state.streams()]
        if known and self.random.random() < 0.7:
            return self.random.choice(known)
        return Asset("A", self.random.choice(NAMES))

    def wanted(self, asset, replicas=None):
        self.created += 1
        replicas = replicas or self.random.choice((1, 2, 2, 3))
        return StreamAssignment(
            account=asset.account,
            name=asset.stream,
            created_ns=self.created,
            config=f"{replicas} {self.created}".encode(),
            group=Group(name="", peers=()),
            reserved_bytes=self.random.choice((0, 0, 100)),
        )

    def create(self, asset):
        return self.office.create_stream(self.wanted(asset), ["east", "west"])

    def create_consumer(self, asset):
        self.created += 1
        asset = asset._replace(consumer=self.random.choice("xy"))
        wanted = ConsumerAssignment(
            name=asset.consumer,
            created_ns=self.created,
            config=b"{}%d" % self.created,
            group=Group(name="", peers=()),
            replicas=self.random.choice((0, 1)),
        )
        return self.office.create_consumer(asset, wanted)

    def configure(self, asset):
        return self.office.configure(asset, b"changed %d" % self.created, 0)

    def scale(self, asset):
        found = self.office.state.find(asset)
        if found is None:
            return None
        order = self.random.sample(found.group.hosts, len(found.group.hosts))
        return self.office.scale(self.wanted(asset), order)

    def scale_consumer(self, asset):
        asset = asset._replace(consumer=self.random.choice("xy"))
        found = self.office.state.find(asset)
        if found is None:
            return None
        order = self.random.sample(found.group.hosts, len(found.group.hosts))
        replicas = self.random.choice((0, 1, 2))
        return self.office.scale_consumer(asset, b"scaled %d" % self.created, replicas, order)

    def move(self, asset):
        found = self.office.state.find(asset)
        replicas = len(found.group.peers) if found else 1
        return self.office.move(
            self.wanted(asset, replicas), [self.random.choice(("east", "west"))]
        )

    def finish(self, asset):
        moving = [it for it, found in self.office.state.assets() if found.group.target]
        if not moving:
            return None
        asset = self.random.choice(moving)
        found = self.office.state.find(asset)
        return self.office.finish_move(asset, found.created_ns, found.group.target)

    def cancel(self, asset):
        return self.office.cancel_move(asset)

    def replace(self, asset):
        return self.office.replace_peer(asset, self.random.choice(self.peers))

    def remove(self, asset):
        if self.random.random() < 0.7:
            asset = asset._replace(consumer=self.random.choice("xy"))
        return self.office.remove(asset)

    def remove_server(self, asset):
        peer = self.random.choice(self.peers)
        if peer in self.office.state.servers and self.random.random() < 0.2:
            self.fleet.lose(peer)
            return self.office.remove_server(peer)
        self.put_server(peer)
        return None

    def do_duties(self, asset):
        for proposal in self.office.duties():
            self.seen["duty"] += 1
            self.propose(proposal)

    # -- the end ---------------------------------------------------------------------------------

    def end(self):
        forecast = self.office._forecast.snapshot()
        self.commit_all()
        for server in self.servers.values():
            server.apply(len(self.committed))
            self.model.compare(server.state, demand)
            server.check()
        states = {it.machine.snapshot() for it in self.servers.values()}
        demand(len(states) == 1, "all have one state")
        demand(states == {forecast}, "what the leader foresaw has come")


def request_of(stream):
    words = stream.config.split()
    replicas = int(words[0]) if words[0].isdigit() else max(1, len(stream.group.peers))
    return PlacementRequest(
        account=stream.account,
        stream=stream.name,
        cluster="",
        replicas=replicas,
        max_bytes=stream.reserved_bytes or -1,
    )
