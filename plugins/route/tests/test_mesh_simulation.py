"""Whole servers' routes in virtual time: real actors and real planes, a simulated network.

Whatever happens on the way, the servers that run end in a full mesh: each pair has every place of
its pool and that of the system account taken by one connection, the same one on both sides, and
clients are told of everybody.
"""

from __future__ import annotations

import itertools

import pytest
from framework_route.limits import LOST_DELAY_MAX_S, RECONNECT_JITTER_S
from framework_route.route_manager import RouteManager
from hypothesis import given, settings
from hypothesis import strategies as st

ACCOUNTS = ("$G", "$SYS", "A", "B")

pytestmark = pytest.mark.sim


def check_full_mesh(servers) -> None:
    described = {server.host: server.described() for server in servers}
    for server in servers:
        routes = described[server.host]
        slots = sorted(
            (route.remote_id, route.slot.pool_index, route.slot.account)
            for route in routes.values()
        )

        others = [other for other in servers if other is not server]
        assert slots == sorted(place for other in others for place in places_at(server, other))

        for link, route in routes.items():
            other = server.ends[link].other
            assert other.server.server_id == route.remote_id
            there = described[other.server.host][other.link]
            assert there.slot.pool_index == route.slot.pool_index
            assert there.slot.account == route.slot.account
        assert set(routes) == set(server.ends), "a connection is neither a route nor closed"
        urls = server.client_info["connect_urls"]
        assert urls[0] == f"{server.host}:4222"
        assert sorted(urls) == sorted(f"{each.host}:4222" for each in servers)


def places_at(server, other):
    sizes = (server.pool_size, other.pool_size)
    if min(sizes) <= 0:
        return [(other.server_id, 0, "")]
    pool = [(other.server_id, index, "") for index in range(max(sizes))]
    pinned = {"$SYS", *server.pins}
    return [*pool, *((other.server_id, 0, account) for account in pinned)]


def check_messages(network, servers) -> None:
    """What is published anywhere reaches everybody once, in every account."""
    for server in servers:
        server.delivered.clear()
    said = []
    for server in servers:
        for account in ACCOUNTS:
            said.append(f"{server.host} {account}".encode())
            server.publish(account, said[-1])
    network.dispatcher.run_for(1.0)
    for server in servers:
        assert sorted(server.delivered) == sorted(said), server.host


def routes_of(shape: str, number: int, count: int) -> tuple[str, ...]:
    """Return whom server `number` has configured; every shape connects all."""
    others = [other for other in range(1, count + 1) if other != number]
    match shape:
        case "seed":
            chosen = [1]
        case "chain":
            chosen = [max(1, number - 1)]
        case "ring":
            chosen = [number % count + 1]
        case "all":
            chosen = others
        case "all and self":
            chosen = [number, *others]
        case "two seeds":
            chosen = [1, min(2, count)]
    return tuple(f"10.0.0.{other}" for other in chosen)


KINDS = ("crash", "cut", "reset", "reset", "reset all", "pool", "pool", "pins", "fail")
POOL_SIZES = (3, -1, 1, 5)
PINS = ((), ("A",), ("A", "B"), ("B",))

SHAPES = ("seed", "chain", "ring", "all", "all and self", "two seeds")


def disturb(network, servers, kind, first, second, duration_s):  # noqa: PLR0917
    """Let something happen to servers and connections."""
    a, b = first % len(servers), second % len(servers)
    if kind == "crash":
        servers[a].crash()
        network.dispatcher.run_for(duration_s)
        servers[a] = servers[a].restarted().listening()
    elif kind == "cut" and a != b:
        network.cut(servers[a].host, servers[b].host)
        network.dispatcher.run_for(duration_s)
        network.cuts.clear()
    elif kind == "reset" and network.pipes:
        network.reset(network.pipes[first % len(network.pipes)])
    elif kind == "reset all":
        for pipe in network.pipes:
            network.reset(pipe)


def change(network, servers, kind, at, which, duration_s):  # noqa: PLR0917
    """Let an operator do something, and time pass; pins are changed at one server after another."""
    match kind:
        case "pool":
            servers[at].reload(pool_size=POOL_SIZES[which % len(POOL_SIZES)])
        case "pins":
            for server in servers:
                server.reload(pins=PINS[which % len(PINS)])
                network.dispatcher.run_for(duration_s / len(servers))
        case "fail":
            servers[at].manager.tell(RouteManager.Reported(0, "no report at all"))
    network.dispatcher.run_for(duration_s)


def run_mesh(network, count, shape, starts_s, *, faults=(), clusters=None, pools=(3,)):
    servers = []
    for number in range(1, count + 1):
        cluster = clusters[number - 1] if clusters else "c1"
        pool_size = pools[number % len(pools)]
        server = network.add(number, routes_of(shape, number, count), cluster, pool_size)
        servers.append(server.listening())
        network.dispatcher.run_for(starts_s[number - 1])
    for kind, first, second, duration_s in faults:
        if kind in {"pool", "pins", "fail"}:
            change(network, servers, kind, first % count, second, duration_s)
        else:
            disturb(network, servers, kind, first, second, duration_s)
            network.dispatcher.run_for(second % 3)
    network.dispatcher.run_for(120.0)
    return servers


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.sampled_from([2, 3, 3, 5, 9]),
    shape=st.sampled_from(SHAPES),
    starts_s=st.lists(st.sampled_from([0.0, 0.0, 0.005, 0.5, 3.0]), min_size=9, max_size=9),
    faults=st.lists(
        st.tuples(
            st.sampled_from(KINDS),
            st.integers(0, 100),
            st.integers(0, 100),
            st.sampled_from([0.0, 0.01, 1.0, 10.0, 60.0]),
        ),
        max_size=6,
    ),
    pools=st.lists(st.sampled_from([3, 3, 1, 5, -1]), min_size=1, max_size=3),
)
def test_ends_in_a_full_mesh(  # noqa: PLR0917
    make_network, seed, count, shape, starts_s, faults, pools
):
    network = make_network(seed)
    servers = run_mesh(network, count, shape, starts_s, faults=faults, pools=pools)
    check_full_mesh(servers)
    check_messages(network, servers)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("count", [2, 3, 5, 9])
def test_all_start_at_once(make_network, count, shape):
    for seed in range(3):
        check_full_mesh(run_mesh(make_network(seed), count, shape, [0.0] * 9))


HEALING_S = LOST_DELAY_MAX_S + RECONNECT_JITTER_S + 0.4
"""To the next attempt, and through all handshakes: a message takes up to 20 ms, and one is up to 20
behind the first attempt."""


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("cut_s", [0.0, 0.5, 3.0])
def test_what_is_cut_is_whole_again_soon(make_network, shape, cut_s):
    for seed in range(3):
        network = make_network(seed)
        servers = run_mesh(network, 3, shape, [0.0] * 9)
        pairs = list(itertools.combinations((server.host for server in servers), 2))
        for pair in pairs:
            network.cut(*pair)
        network.dispatcher.run_for(cut_s)
        network.cuts.clear()
        network.dispatcher.run_for(HEALING_S)

        check_full_mesh(servers)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("away_s", [0.05, 0.5, 3.0])
def test_who_breaks_down_and_is_back_is_a_member_soon(make_network, shape, away_s):
    for seed in range(3):
        network = make_network(seed)
        servers = run_mesh(network, 3, shape, [0.0] * 9)
        servers[seed].crash()
        network.dispatcher.run_for(away_s)
        servers[seed] = servers[seed].restarted().listening()
        network.dispatcher.run_for(HEALING_S)

        check_full_mesh(servers)


@pytest.mark.parametrize("seed", [18, 37, 58])
def test_an_account_that_is_pinned_no_more_at_once_is_heard_everywhere(make_network, seed):
    network = make_network(seed)
    faults = [("pins", 0, 1, 10.0), ("crash", 1, 0, 0.01), ("pins", 0, 0, 0.1)]
    servers = run_mesh(network, 3, "seed", [0.0] * 9, faults=faults)

    check_full_mesh(servers)
    check_messages(network, servers)


def test_one_seed_one_history(make_network):
    def history(seed: int) -> list[list[str]]:
        faults = [("crash", 1, 0, 1.0), ("cut", 0, 2, 10.0)]
        servers = run_mesh(make_network(seed), 5, "seed", [0.01] * 9, faults=faults)
        return [server.lines for server in servers]

    assert history(7) == history(7)
    assert history(7) != history(8)


def test_made_up_names_of_clusters_end_in_one(make_network):
    for seed in range(5):
        servers = run_mesh(make_network(seed), 5, "seed", [0.2] * 9, clusters=[""] * 5)

        check_full_mesh(servers)
        assert len({server.cluster_name for server in servers}) == 1


def test_a_configured_name_of_a_cluster_wins_over_made_up_ones(make_network):
    for seed in range(5):
        names = ["", "", "c1", "", ""]
        servers = run_mesh(make_network(seed), 5, "chain", [0.2] * 9, clusters=names)

        check_full_mesh(servers)
        assert {server.cluster_name for server in servers} == {"c1"}


def test_two_clusters_stay_apart(make_network):
    servers = run_mesh(make_network(1), 4, "seed", [0.0] * 9, clusters=["c1", "c1", "c2", "c2"])
    routes = [sorted({r.remote_id for r in server.described().values()}) for server in servers]

    assert routes == [["N2X0"], ["N1X0"], [], []]
    assert any('cluster name "c2" does not match "c1"' in line for line in servers[0].lines)
    assert any('cluster name "c1" does not match "c2"' in line for line in servers[3].lines)


def test_a_route_to_itself_is_tried_once(make_network):
    (server,) = run_mesh(make_network(1), 1, "seed", [0.0] * 9)

    tries = [line for line in server.lines if line.startswith("Trying to connect")]
    assert len(tries) == 1
    assert (
        'Detected route to self, ignoring "nats-route://route:xxxxx@10.0.0.1:6222"' in server.lines
    )
