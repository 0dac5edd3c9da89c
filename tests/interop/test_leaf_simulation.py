"""A tree of hubs and leaf nodes in virtual time, with partitions and restarts from a seed.

Whatever has happened: once it is over, each leaf node is connected to its hub, and each message
reaches every plain subscription of the tree once, and one member of each queue group.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from framework_leafnode import leaf_link
from framework_leafnode.leafs import Leafs
from msgspec.structs import replace

from tests.interop.simulated_leafnodes import ACCOUNT, Subscription, Tree
from tests.interop.test_supercluster_simulation import matches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from framework.spec import PeerTerms

pytestmark = pytest.mark.sim

SIZES = {"H": 2, "L": 2, "S": 1, "T": 1, "U": 1}
HUB_OF = {"L": "H", "S": "H", "T": "S", "U": "H"}
"""T is the leaf node of a leaf node, L a cluster whose servers have a hub each."""
SUBJECTS = ("a", "a.b", "a.*", "b.>", "b.c.d")
LITERALS = ("a", "a.b", "b.c.d", "nobody")
QUEUES = ("", "", "q", "r")
STEPS = 40
HEALED_S = 70.0
"""A loop that was found is left alone for 30 s."""


def change_interest(world: Tree) -> None:
    its = world.subscriptions
    if its and world.rng.random() < 0.4:
        world.rng.choice(its).end()
    else:
        server = world.rng.choice(world.servers)
        Subscription(server, world.rng.choice(SUBJECTS), world.rng.choice(QUEUES))


def publish_somewhere(world: Tree) -> None:
    server = world.rng.choice(world.servers)
    server.plane.publish(ACCOUNT, [(world.rng.choice(LITERALS).encode(), b"", b"", b"meanwhile")])


def part(world: Tree) -> None:
    first, second = world.rng.sample([it.host for it in world.servers], 2)
    world.network.cut(first, second)


def heal(world: Tree) -> None:
    world.network.cuts.clear()


def reset(world: Tree) -> None:
    world.network.reset(world.rng.choice(world.network.pipes))


def restart(world: Tree) -> None:
    world.restart(world.rng.choice(world.servers), world.rng.choice((0.01, 1.0, 5.0)))


STEPS_OF = {change_interest: 12, publish_somewhere: 4, part: 4, heal: 3, reset: 3, restart: 1}


def run(seed: int) -> Tree:
    world = Tree(seed, SIZES, HUB_OF)
    for _ in range(STEPS):
        step: Callable[[Tree], None]
        [step] = world.rng.choices([*STEPS_OF], weights=[*STEPS_OF.values()])
        step(world)
        world.network.dispatcher.run_for(world.rng.choice((0.0, 0.005, 0.05, 1.0, 3.0)))
    heal(world)
    world.network.dispatcher.run_for(HEALED_S)
    return world


def check(world: Tree) -> None:
    for server in world.servers:
        assert server.hubs() == (server.cluster in HUB_OF), server.name
    for it in world.subscriptions:
        it.got.clear()
    said = []
    for server in world.servers:
        for subject in LITERALS:
            payload = f"{server.name} {subject}".encode()
            server.plane.publish(ACCOUNT, [(subject.encode(), b"", b"", payload)])
            said.append((subject, payload))
    world.network.dispatcher.run_for(2.0)
    for subject, payload in said:
        concerned = [it for it in world.subscriptions if matches(it.subject, subject)]
        for it in concerned:
            if not it.queue:
                assert it.got.count(payload) == 1, (it.server.name, it.subject, payload)
        for queue in {it.queue for it in concerned if it.queue}:
            members = [it for it in concerned if it.queue == queue]
            assert sum(it.got.count(payload) for it in members) == 1, (payload, queue)
    for it in world.subscriptions:
        assert max(Counter(it.got).values(), default=1) == 1


@pytest.mark.parametrize("seed", range(10))
def test_after_all_that_happened_everybody_gets_all_once(seed: int) -> None:
    check(run(seed))


def test_one_seed_one_history() -> None:
    def history(seed: int) -> list[list[str]]:
        return [server.lines for server in run(seed).servers]

    assert history(3) == history(3)


def check_seeds(seeds: Iterable[int]) -> None:
    for seed in seeds:
        check(run(seed))


def forget_lost_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Leafs, "receive_closed", lambda *_: [])


def test_a_planted_mistake_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_lost_connections(monkeypatch)

    with pytest.raises(AssertionError):
        check_seeds(range(4))


@pytest.mark.parametrize("is_known", [True, False], ids=["known", "forgotten"])
def test_a_cluster_that_is_known_as_one_hears_itself_once(
    monkeypatch: pytest.MonkeyPatch, *, is_known: bool
) -> None:
    terms = leaf_link.peer_terms

    def without(*arguments: object, **named: object) -> PeerTerms:
        return replace(terms(*arguments, **named), origin=b"")  # type: ignore[arg-type]

    if not is_known:
        monkeypatch.setattr(leaf_link, "peer_terms", without)
    world = Tree(1, {"H": 2, "L": 2}, {"L": "H"})
    its = [Subscription(server, "a", "") for server in world.servers]
    world.network.dispatcher.run_for(20.0)
    world.servers[2].plane.publish(ACCOUNT, [(b"a", b"", b"", b"x")])
    world.network.dispatcher.run_for(2.0)

    assert [len(it.got) for it in its] == [1, 1, 1, 1 if is_known else 2]


def test_a_ring_of_three_hubs_is_left_by_one_of_them() -> None:
    """Each hub is a leaf node of the next one, and keeps trying; messages do not go round."""
    for seed in range(5):
        world = Tree(seed, {"X": 1, "Y": 1, "Z": 1}, {"X": "Y", "Y": "Z", "Z": "X"})
        for server in world.servers:
            Subscription(server, "a", "")
        world.network.dispatcher.run_for(20.0)
        assert any("Loop detected" in line for it in world.servers for line in it.lines)
        assert sum(it.hubs() for it in world.servers) < len(world.servers)
        for it in world.subscriptions:
            it.got.clear()
        world.servers[0].plane.publish(ACCOUNT, [(b"a", b"", b"", b"round")])
        world.network.dispatcher.run_for(2.0)

        for it in world.subscriptions:
            assert it.got in ([], [b"round"])
