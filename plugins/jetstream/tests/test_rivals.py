"""Who has JetStream in the same domain elsewhere, and what follows: by STATSZ that servers tell."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from framework_jetstream.rivals import Rivals

OURS = 1


class Batch:
    """What a server has told, once."""

    def __init__(self, server_id, word, document):
        self._subject = f"$SYS.SERVER.{server_id}.{word}".encode()
        self._payload = json.dumps(document).encode()

    def __len__(self):
        return 1

    def subject(self, _at):
        return self._subject

    def payload(self, _at):
        return self._payload


class World:
    """A server that shares streams, and what others tell it."""

    def __init__(self, is_founded=lambda: True):
        self.reported, self.rechecks = [], 0
        self.rivals = Rivals(
            server_id="NHERE",
            domain="d",
            started_ns=1,
            report=self.reported.append,
            cluster=lambda: "ours",
            is_founded=is_founded,
        )

    def hear(self, server_id, cluster, word="STATSZ", **more):
        server = {"name": "x", "cluster": cluster, "jetstream": True, "domain": "d", **more}
        statsz = {"start": "2030-01-01T00:00:00Z"}
        self.rivals.receive(Batch(server_id, word, {"server": server, "statsz": statsz}))

    def gateway(self, server_id, cluster="theirs"):
        peer = SimpleNamespace(server_id=server_id, cluster=cluster)
        return self.rivals.refuse_gateway(peer, self._recheck)

    def _recheck(self):
        self.rechecks += 1


@pytest.mark.parametrize("is_founded", [True, False])
def test_a_nats_server_behind_a_gateway_is_refused_when_it_has_told_of_jetstream(is_founded):
    world = World(lambda: is_founded)
    assert world.gateway("NX") == ""
    world.hear("NX", "theirs")
    world.hear("NX", "theirs")

    assert world.rechecks == 1
    assert "server x of cluster theirs can't be in this supercluster" in world.gateway("NX")
    assert world.gateway("NY") == ""
    assert (world.rivals.problem, world.reported) == (None, [])


@pytest.mark.parametrize(
    "more", [{"domain": "e"}, {"jetstream": False}, {"flags": OURS}], ids=["domain", "off", "ours"]
)
def test_others_keep_their_gateways(more):
    world = World()
    assert world.gateway("NX") == ""
    world.hear("NX", "theirs", **more)

    assert world.gateway("NX") == ""
    assert (world.rechecks, world.rivals.problem) == (0, None)


def test_a_server_that_has_its_streams_alone_yields_as_before():
    world = World(None)
    assert world.gateway("NX") == ""
    world.hear("NX", "theirs")

    assert world.gateway("NX") == ""
    assert "JetStream is off" in world.rivals.problem
    world.hear("NX", "theirs", "SHUTDOWN")
    assert world.rivals.problem is None


def test_no_more_than_some_are_remembered():
    world = World()
    world.gateway("N0")
    for number in range(3000):
        world.hear(f"N{number}", "theirs")

    assert len(world.rivals._refused) == 1024
    assert world.gateway("N2999")
