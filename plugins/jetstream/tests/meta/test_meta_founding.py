"""Servers with empty disks found one meta group, whatever is lost, late or stopped on the way."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from framework_jetstream.meta.founding import (
    Accepted,
    Ballot,
    Begin,
    Foundation,
    Founded,
    Founding,
    Memory,
    Prepare,
    Promise,
    Save,
    Send,
    SizesDiffer,
)

SEEDS = 400
STEPS = 250


class World:
    """Servers that see some others, and letters on their way.

    Args:
        seed: Chooses everything.
        mistake: `forgets`: a server that is started again does not know what it has saved.
    """

    def __init__(self, seed, mistake=""):
        self.random = random.Random(seed)
        self.mistake = mistake
        self.size = self.random.choice((1, 2, 3, 3, 5, 5))
        self.others = [f"o{n}" for n in range(self.random.choice((0, 0, 1, 2)))]
        """Servers of the cluster without JetStream."""
        self.peers = [f"p{n}" for n in range(self.size)]
        self.saved = dict.fromkeys(self.peers, Memory())
        self.servers = {}
        self.letters = []
        self.begun = {}
        self.seen = Counter()
        for peer in self.peers:
            self.start(peer)

    def start(self, peer):
        memory = Memory() if self.mistake == "forgets" else self.saved[peer]
        self.servers[peer] = Founding(
            peer, self.size + len(self.others), memory, lambda: f"g{self.random.random()}"
        )
        self.see_others(peer, 0.5)
        for other in self.peers:
            if self.random.random() < 0.8:
                self.servers[peer].see(other)

    def see_others(self, peer, chance):
        for other in self.others:
            if self.random.random() < chance:
                self.servers[peer].see_without(other)

    def do(self, peer, deeds):
        """Carry out what a server wants, up to where it stops."""
        for deed in deeds:
            if self.random.random() < 0.02:
                self.seen["stop"] += 1
                self.start(peer)
                return
            match deed:
                case Save(memory):
                    self.saved[peer] = memory
                case Send(to, letter):
                    self.letters.append((peer, to, letter))
                case Begin(value):
                    self.seen["begin"] += 1
                    assert peer not in self.begun or self.begun[peer] == value
                    self.begun[peer] = value
                    assert len(set(self.begun.values())) == 1

    def step(self):
        peer = self.random.choice(self.peers)
        what = self.random.random()
        if what < 0.08:
            self.do(peer, self.servers[peer].tick())
        elif what < 0.1:
            self.start(peer)
        elif what < 0.14:
            self.servers[peer].see(self.random.choice(self.peers))
        elif what < 0.16:
            self.servers[peer].lose(self.random.choice(self.peers))
        elif self.letters:
            at = self.random.randrange(len(self.letters))
            sender, to, letter = self.letters[at]
            if self.random.random() < 0.85:
                del self.letters[at]
            else:
                self.seen["twice"] += 1
            if self.random.random() < 0.9:
                self.do(to, self.servers[to].receive(sender, letter))

    def end(self):
        """All see each other, and nothing gets lost any more: each begins."""
        self.letters.clear()
        for server in self.servers.values():
            for peer in self.peers:
                server.see(peer)
        for peer in self.peers:
            self.see_others(peer, 1)
        for _ in range(10):
            for peer in self.peers:
                self.letters += self.sent(peer, self.servers[peer].tick())
                while self.letters:
                    sender, to, letter = self.letters.pop(0)
                    self.letters += self.sent(to, self.servers[to].receive(sender, letter))
        founded = {it.memory.founded for it in self.servers.values()}
        assert len(founded) == 1
        (value,) = founded
        assert len(value.members) > self.size // 2
        assert not self.begun or value in self.begun.values()

    def sent(self, peer, deeds):
        return [(peer, it.to, it.letter) for it in deeds if isinstance(it, Send)]

    def run(self):
        for _ in range(STEPS):
            self.step()
        self.end()
        return self


@pytest.mark.sim
def test_there_is_one_group_and_all_come_to_it():
    seen = Counter()
    for seed in range(SEEDS):
        try:
            seen += World(seed).run().seen
        except AssertionError as broken:
            broken.add_note(f"again: World({seed}).run()")
            raise

    assert min(seen[it] for it in ("begin", "stop", "twice")) > SEEDS / 4


def test_a_server_that_forgets_what_it_promised_is_found():
    found = 0
    for seed in range(200):
        try:
            World(seed, "forgets").run()
        except AssertionError:
            found += 1

    assert found >= 10


def test_one_server_alone_founds_at_once():
    alone = Founding("p1", 1, Memory(), lambda: "g")
    (begin,) = [it for it in alone.tick() if isinstance(it, Begin)]

    assert begin.is_member
    assert begin.value.members == ("p1",)


def test_below_a_majority_nobody_tries():
    assert Founding("p1", 3, Memory(), lambda: "g").tick() == []


def test_servers_without_jetstream_are_counted_off():
    one = Founding("p1", 5, Memory(), lambda: "g")
    for peer in ("o1", "o2"):
        one.see_without(peer)
    assert one.quorum == 2
    one.see("o1")
    assert one.quorum == 3


def test_two_of_three_are_enough_and_the_third_waits_to_be_added():
    servers = {peer: Founding(peer, 3, Memory(), lambda: "g") for peer in ("p1", "p2")}
    for server in servers.values():
        server.see("p1")
        server.see("p2")
    deeds = [("p1", it) for it in servers["p1"].tick()]
    begun = {}
    while deeds:
        peer, deed = deeds.pop(0)
        if isinstance(deed, Send):
            deeds += [(deed.to, it) for it in servers[deed.to].receive(peer, deed.letter)]
        elif isinstance(deed, Begin):
            begun[peer] = deed
    third = Founding("p3", 3, Memory(), lambda: "g")
    third.see("p1")
    (prepare,) = [it for it in third.tick() if isinstance(it, Send)]
    (answer,) = servers["p1"].receive("p3", prepare.letter)
    (_, begin) = third.receive("p1", answer.letter)
    assert set(begun) == {"p1", "p2"}
    assert not begin.is_member
    assert begin.value == begun["p1"].value


def test_a_server_of_another_size_is_named_and_not_heard():
    server = Founding("p1", 3, Memory(), lambda: "g")
    (deed,) = server.receive("p9", Prepare(5, (9, "p9")))

    assert deed == SizesDiffer("p9", 5, 3)
    assert server.memory == Memory()


def test_it_is_agreed_on_when_most_members_have_accepted_it():
    one = Founding("p1", 3, Memory(), lambda: "g")
    one.see("p2")
    one.see("p3")
    ballot = next(it for it in one.tick() if isinstance(it, Send)).letter.ballot
    one.receive("p2", Promise(ballot, Ballot(), None))
    deeds = one.receive("p3", Accepted(ballot))
    assert not any(isinstance(it, Begin) for it in deeds)  # p3 is none of the members
    deeds = one.receive("p2", Accepted(ballot))
    (begin,) = [it for it in deeds if isinstance(it, Begin)]

    assert begin.value.members == ("p1", "p2")
    assert one.took_part


def test_who_is_only_told_took_no_part():
    value = Foundation("g", ("p1", "p2", "p3"))
    three = Founding("p3", 3, Memory(), lambda: "x")
    (_, begin) = three.receive("p1", Founded(value))

    assert begin.is_member
    assert not three.took_part
