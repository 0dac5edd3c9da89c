"""A supercluster of five clusters in virtual time, with partitions and restarts from a seed.

Whatever has happened: once it is over, each server has one connection to each other cluster, knows
of each cluster just what a naive model says that it wants, and each message reaches every plain
subscription of the supercluster once, and one member of each queue group, of the own cluster if it
has any. Each request is answered, also to an inbox that nobody has heard of when it is sent.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from framework_gateway import gateway_link, plugin
from framework_gateway.mesh import Mesh
from msgspec.structs import replace

from framework.spec import GroupClass
from tests.interop.simulated_supercluster import ACCOUNT, Subscription, Supercluster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from framework_gateway.effect import Register
    from framework_gateway.info import GatewayInfo

    from framework.spec import LinkKindSpec, PeerTerms
    from framework.topology import ServerConfig

pytestmark = pytest.mark.sim

SIZES = {"A": 2, "B": 1, "C": 2, "D": 1, "E": 3}
SUBJECTS = ("a", "a.b", "a.*", "b.>", "b.c.d")
LITERALS = ("a", "a.b", "b.c.d", "nobody")
QUEUES = ("", "", "q", "r")
REQUESTS = 2
"""Of each server."""
STEPS = 40
AGREED_S = 2.0
"""Until all interest is right when the servers of one cluster were parted."""
HEALED_S = 40.0
"""The longest pause between two attempts of a gateway is 30 s."""


def change_interest(world: Supercluster) -> None:
    its = world.subscriptions
    if its and world.rng.random() < 0.4:
        world.rng.choice(its).end()
    else:
        server = world.rng.choice(world.servers)
        subject = world.rng.choice((*SUBJECTS, "service"))
        is_service = subject == "service"
        Subscription(server, subject, world.rng.choice(QUEUES), is_service=is_service)


def publish_somewhere(world: Supercluster) -> None:
    server = world.rng.choice(world.servers)
    server.plane.publish(ACCOUNT, [(world.rng.choice(LITERALS).encode(), b"", b"", b"meanwhile")])


def part_clusters(world: Supercluster) -> None:
    names = world.rng.sample(sorted(SIZES), 2)
    for first, second in world.pairs_apart():
        clusters = {world.network.hosts[it].cluster for it in (first, second)}
        if clusters == set(names):
            world.network.cut(first, second)


def part_servers(world: Supercluster) -> None:
    world.network.cut(*world.rng.choice(world.pairs_apart()))


def heal(world: Supercluster) -> None:
    world.network.cuts.clear()


def reset(world: Supercluster) -> None:
    world.network.reset(world.rng.choice(world.network.pipes))


def restart_server(world: Supercluster) -> None:
    world.restart(world.rng.choice(world.servers), world.rng.choice((0.01, 1.0, 5.0)))


def restart_cluster(world: Supercluster) -> None:
    name = world.rng.choice(sorted(SIZES))
    for server in [it for it in world.servers if it.cluster == name]:
        world.restart(server, 0.01)


STEPS_OF = {
    change_interest: 12,
    publish_somewhere: 4,
    part_servers: 2,
    part_clusters: 2,
    heal: 3,
    reset: 3,
    restart_server: 1,
    restart_cluster: 0.5,
}


def run(seed: int) -> Supercluster:
    world = Supercluster(seed, SIZES)
    for _ in range(STEPS):
        step: Callable[[Supercluster], None]
        [step] = world.rng.choices([*STEPS_OF], weights=[*STEPS_OF.values()])
        step(world)
        world.network.dispatcher.run_for(world.rng.choice((0.0, 0.005, 0.05, 1.0, 3.0)))
    heal(world)
    world.network.dispatcher.run_for(HEALED_S)
    return world


def check(world: Supercluster) -> None:
    check_interest(world)
    check_messages(world)
    check_answers(world)


def check_interest(world: Supercluster) -> None:
    wanted: dict[str, set[tuple[str, str]]] = {name: set() for name in SIZES}
    for it in world.subscriptions:
        wanted[it.server.cluster].add((it.subject, it.queue))
    for server in world.servers:
        links = server.gateways()
        others = sorted(name for name in SIZES if name != server.cluster)

        assert sorted(links) == others, f"{server.name} is connected to all clusters"
        for name, link in links.items():
            known = server.interest(link)
            assert sorted(known) == sorted(wanted[name]), f"{server.name} knows what {name} wants"


def check_messages(world: Supercluster) -> None:
    for it in world.subscriptions:
        it.got.clear()
    said = []
    for server in world.servers:
        for subject in LITERALS:
            payload = f"{server.name} {subject}".encode()
            server.plane.publish(ACCOUNT, [(subject.encode(), b"", b"", payload)])
            said.append((server, subject, payload))
    world.network.dispatcher.run_for(2.0)
    for server, subject, payload in said:
        concerned = [it for it in world.subscriptions if matches(it.subject, subject)]
        for it in concerned:
            if not it.queue:
                assert it.got.count(payload) == 1, (it.server.name, it.subject, payload)
        groups: dict[tuple[str, str], list[Subscription]] = {}
        for it in concerned:
            if it.queue:
                groups.setdefault((it.subject, it.queue), []).append(it)
        check_groups(server.cluster, payload, groups)
    for it in world.subscriptions:
        assert max(Counter(it.got).values(), default=1) == 1


def check_answers(world: Supercluster) -> None:
    """Ask from everywhere at once, each for an answer to an inbox of its own."""
    services = [it for it in world.subscriptions if it.is_service]
    asked = []
    for server in world.servers:
        for number in range(REQUESTS):
            inbox = f"_INBOX.{server.name}.{number}"
            asked.append(Subscription(server, inbox, ""))
            server.plane.publish(ACCOUNT, [(b"service", inbox.encode(), b"", inbox.encode())])
    world.network.dispatcher.run_for(2.0)
    answers = sum(not it.queue for it in services) + len({it.queue for it in services} - {""})
    for it in asked:
        assert it.got == [it.subject.encode()] * answers, (it.server.name, it.subject, it.got)


def check_groups(
    cluster: str, payload: bytes, groups: dict[tuple[str, str], list[Subscription]]
) -> None:
    """Members of a group with one name are one group on each subject that they subscribe to."""
    by_queue: dict[str, list[Subscription]] = {}
    for (_, queue), members in groups.items():
        by_queue.setdefault(queue, []).extend(members)
    for members in by_queue.values():
        served = [it.server.cluster for it in members for _ in range(it.got.count(payload))]
        assert len(served) == 1, (payload, served)
        if any(it.server.cluster == cluster for it in members):
            assert served == [cluster], payload


def matches(pattern: str, subject: str) -> bool:
    words, tokens = pattern.split("."), subject.split(".")
    for at, word in enumerate(words):
        if word == ">":
            return len(tokens) > at
        if at >= len(tokens) or word not in {"*", tokens[at]}:
            return False
    return len(words) == len(tokens)


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
    monkeypatch.setattr(Mesh, "receive_closed", lambda *_: [])


def tell_interest_of_one_account(monkeypatch: pytest.MonkeyPatch) -> None:
    terms = gateway_link.peer_terms

    def fewer(local: GatewayInfo, register: Register) -> PeerTerms:
        made = terms(local, register)
        return made if register.is_outbound else replace(made, accounts=[0])

    monkeypatch.setattr(gateway_link, "peer_terms", fewer)


def answer_without_address(monkeypatch: pytest.MonkeyPatch) -> None:
    terms = gateway_link.peer_terms

    def without(local: GatewayInfo, register: Register) -> PeerTerms:
        return replace(terms(local, register), address=b"")

    monkeypatch.setattr(gateway_link, "peer_terms", without)


def serve_groups_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Choose members in other clusters as those of the own one."""
    declare = plugin.framework_link_kinds

    def evenly(config: ServerConfig) -> list[LinkKindSpec]:
        return [
            replace(spec, traits=replace(spec.traits, group_class=GroupClass.EVENLY))
            for spec in declare(config)
        ]

    monkeypatch.setattr(plugin, "framework_link_kinds", evenly)


@pytest.mark.parametrize(
    "plant",
    [
        forget_lost_connections,
        tell_interest_of_one_account,
        answer_without_address,
        serve_groups_anywhere,
    ],
)
def test_a_planted_mistake_is_found(
    monkeypatch: pytest.MonkeyPatch, plant: Callable[[pytest.MonkeyPatch], None]
) -> None:
    plant(monkeypatch)

    with pytest.raises(AssertionError):
        check_seeds(range(4))


@pytest.mark.parametrize("seed", range(5))
def test_both_halves_of_a_cluster_go_on_and_agree_soon_after(seed: int) -> None:
    """Each half serves its clients and tells others its own interest; then routes are back."""
    world = Supercluster(seed, SIZES)
    world.network.dispatcher.run_for(5.0)
    for _ in range(20):
        change_interest(world)
    alone, *others = [it.host for it in world.servers if it.cluster == "E"]
    for other in others:
        world.network.cut(alone, other)
    for _ in range(20):
        change_interest(world)
        publish_somewhere(world)
        world.network.dispatcher.run_for(world.rng.choice((0.05, 1.0, 3.0)))
    heal(world)
    world.network.dispatcher.run_for(AGREED_S)

    check(world)
