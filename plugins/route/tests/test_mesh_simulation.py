"""Whole servers' routes in virtual time: real actors and real planes, a simulated network.

Whatever happens on the way, the servers that run end in a full mesh: one connection for each pair,
the same one on both sides, and clients are told of everybody.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest
from framework_route.config import RouteConfig
from framework_route.introduction import introduce
from framework_route.machine import Login
from framework_route.mesh import MeshSettings
from framework_route.route_manager import Gate, RouteManager
from framework_route.url import RouteUrl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from framework.actors import ActorSystem, SimulatedDispatcher
from framework.dataplane import Core, PlaneLimits
from framework.spec import Closed, DialFailed, LinkEvents, LinkKind

pytestmark = pytest.mark.sim

PORT = 6222


@dataclass
class Pipe:
    """A TCP connection: two ends, bytes in order, each with its own delay."""

    ends: tuple[End, End] = ()
    is_cut: bool = False


@dataclass(eq=False)
class End:
    server: Server
    link: int
    pipe: Pipe
    busy_until_ns: int = 0

    @property
    def other(self) -> End:
        first, second = self.pipe.ends
        return second if self is first else first


class Network:
    """Hosts by address, delays from a seed, pairs that are cut off from each other."""

    def __init__(self, seed: int) -> None:
        self.dispatcher = SimulatedDispatcher(seed)
        self.rng = random.Random(f"{seed} network")
        self.hosts: dict[str, Server] = {}
        self.cuts: set[frozenset[str]] = set()
        self.pipes: list[Pipe] = []

    def delay_s(self) -> float:
        return self.rng.uniform(0.000_1, 0.02)

    def is_cut(self, first: str, second: str) -> bool:
        return frozenset((first, second)) in self.cuts

    def dial(self, source: Server, host: str, port: int, token: int) -> None:
        self.dispatcher.call_later(self.delay_s(), lambda: self.connect(source, host, port, token))

    def connect(self, source: Server, host: str, port: int, token: int) -> None:
        target = self.hosts.get(host)
        if source.is_gone:
            return
        if target is None or port != PORT or self.is_cut(source.host, host):
            source.tell(DialFailed(token, "connection refused"))
            return
        pipe = Pipe()
        link = source.core.open(LinkKind.ROUTE, host, port, accepted=False, token=token)
        peer = target.core.open(LinkKind.ROUTE, source.host, 50_000 + link % 10_000, accepted=True)
        pipe.ends = (End(source, link, pipe), End(target, peer, pipe))
        self.pipes.append(pipe)
        for end in pipe.ends:
            end.server.ends[end.link] = end
            end.server.pump()

    def carry(self, end: End, deliver) -> None:
        """Do something at the other end, after all that was sent there before."""
        at_ns = self.dispatcher.now_ns() + int(self.delay_s() * 1e9)
        end.busy_until_ns = max(end.busy_until_ns + 1, at_ns)
        delay_s = (end.busy_until_ns - self.dispatcher.now_ns()) / 1e9
        self.dispatcher.call_later(delay_s, deliver)

    def cut(self, first: str, second: str) -> None:
        self.cuts.add(frozenset((first, second)))
        for pipe in self.pipes:
            if {end.server.host for end in pipe.ends} == {first, second}:
                self.reset(pipe)

    def reset(self, pipe: Pipe) -> None:
        pipe.is_cut = True
        for end in pipe.ends:
            self.dispatcher.call_later(self.delay_s(), end.server.hanging_up(end.link))


class Log:
    """Keeps the lines, filled in."""

    def __init__(self, lines: list[str], prefix: str = "") -> None:
        self.lines = lines
        self.prefix = prefix

    def bind(self, **fields) -> Log:
        return Log(self.lines, f"{fields['remote']} - rid:{fields['rid']} - ")

    def _write(self, event: str, **fields) -> None:
        self.lines.append(self.prefix + event.format(**fields))

    debug = info = warning = error = _write


class Plane:
    """The commands of a real core, with a turn soon after each."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def __getattr__(self, name):
        def command(*args, **kwargs):
            answer = getattr(self._server.core, name)(*args, **kwargs)
            self._server.pump_soon()
            return answer

        return command


@dataclass
class Server:
    """One server, as the plugin sees it."""

    network: Network
    number: int
    routes: tuple[str, ...]
    cluster: str = "c1"
    generation: int = 0
    is_gone: bool = False
    client_info: dict = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.host = f"10.0.0.{self.number}"
        self.name = f"s{self.number}"
        self.server_id = f"N{self.number}X{self.generation}"
        self.cluster_name = self.cluster
        self.core = Core(PlaneLimits(), seed=self.number)
        self.plane = Plane(self)
        self.log = Log(self.lines)
        self.config = SimpleNamespace(
            values={"no_header_support": False, "max_payload": 1 << 20, "client_advertise": None}
        )
        self.ends: dict[int, End] = {}
        self.is_pumping_soon = False
        self.system = ActorSystem(self.network.dispatcher, name=self.server_id)
        self.network.hosts[self.host] = self
        config = RouteConfig(
            name=self.cluster,
            host=self.host,
            port=PORT,
            advertise="",
            login=Login("route", "s3cret"),
            mesh=MeshSettings(
                routes=tuple(RouteUrl(host, PORT, "route", "s3cret") for host in self.routes),
                user="route",
                password="s3cret",
            ),
            not_in_force=(),
        )
        local = introduce(self, config)
        self.manager = self.system.spawn(
            RouteManager, server=self, config=config, local=local, gate=Gate(is_open=True)
        )
        self.tick()

    def tick(self) -> None:
        if not self.is_gone:
            self.pump()
            self.network.dispatcher.call_later(1.0, self.tick)

    # -- what a ServerContext has

    def set_cluster_name(self, name: str, *, dynamic: bool = False) -> None:
        self.cluster_name = name

    def listening_address(self, kind):
        return (self.host, PORT if kind is LinkKind.ROUTE else 4222)

    def update_client_info(self, fields) -> None:
        self.client_info.update(fields)

    def dial(self, host, port, kind, token, timeout_s) -> None:
        assert kind is LinkKind.ROUTE
        self.network.dial(self, host, port, token)

    # -- what drives it

    def tell(self, message) -> None:
        if not self.is_gone:
            self.manager.tell(message)

    def pump_soon(self) -> None:
        if not self.is_pumping_soon:
            self.is_pumping_soon = True
            self.network.dispatcher.call_soon(self.pump)

    def pump(self) -> None:
        self.is_pumping_soon = False
        if self.is_gone:
            return
        self.core.turn(self.network.dispatcher.now_ns())
        for end in list(self.ends.values()):
            data = self.core.take_output(end.link)
            if data and not end.pipe.is_cut:
                self.network.carry(end, end.other.server.receiving(end.other.link, data))
        events = self.core.take_events()
        for event in events:
            if isinstance(event, Closed):
                end = self.ends.pop(event.link)
                self.network.carry(end, end.other.server.hanging_up(end.other.link))
        if events:
            self.tell(LinkEvents(tuple(events)))

    def receiving(self, link: int, data: bytes):
        def receive() -> None:
            if not self.is_gone and link in self.ends and not self.ends[link].pipe.is_cut:
                self.core.feed(link, data, self.network.dispatcher.now_ns())
                self.pump()

        return receive

    def hanging_up(self, link: int):
        def hang_up() -> None:
            if not self.is_gone and link in self.ends:
                self.core.hang_up(link)
                self.pump()

        return hang_up

    def crash(self) -> None:
        self.is_gone = True
        del self.network.hosts[self.host]
        for end in self.ends.values():
            end.pipe.is_cut = True
            delay_s = self.network.delay_s()
            self.network.dispatcher.call_later(delay_s, end.other.server.hanging_up(end.other.link))
        self.system.stop(1.0)

    def restarted(self) -> Server:
        return Server(
            self.network, self.number, self.routes, self.cluster, generation=self.generation + 1
        )

    # -- what is asked at the end

    def described(self):
        reply = self.manager.ask(RouteManager.Describe(), block=False)
        while not reply.is_done:
            self.network.dispatcher.run_for(0.001)
        return reply.get()


def check_full_mesh(servers: list[Server]) -> None:
    described = {server.host: server.described() for server in servers}
    for server in servers:
        routes = described[server.host]
        ids = sorted(route.remote_id for route in routes.values())

        assert ids == sorted(other.server_id for other in servers if other is not server)

        for link, route in routes.items():
            other = server.ends[link].other
            assert other.server.server_id == route.remote_id
            assert other.link in described[other.server.host]
        assert set(routes) == set(server.ends), "a connection is neither a route nor closed"
        urls = server.client_info["connect_urls"]
        assert urls[0] == f"{server.host}:4222"
        assert sorted(urls) == sorted(f"{each.host}:4222" for each in servers)


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


SHAPES = ("seed", "chain", "ring", "all", "all and self", "two seeds")


def run_mesh(seed: int, count: int, shape: str, starts_s, faults, *, clusters=None) -> list[Server]:
    network = Network(seed)
    servers: list[Server] = []
    for number in range(1, count + 1):
        cluster = clusters[number - 1] if clusters else "c1"
        servers.append(Server(network, number, routes_of(shape, number, count), cluster))
        network.dispatcher.run_for(starts_s[number - 1])
    for kind, first, second, duration_s in faults:
        a, b = first % count, second % count
        if kind == "crash":
            servers[a].crash()
            network.dispatcher.run_for(duration_s)
            servers[a] = servers[a].restarted()
        elif kind == "cut" and a != b:
            network.cut(servers[a].host, servers[b].host)
            network.dispatcher.run_for(duration_s)
            network.cuts.clear()
        elif kind == "reset" and network.pipes:
            network.reset(network.pipes[first % len(network.pipes)])
        network.dispatcher.run_for(second % 3)
    network.dispatcher.run_for(120.0)
    return servers


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.sampled_from([2, 3, 3, 5, 9]),
    shape=st.sampled_from(SHAPES),
    starts_s=st.lists(st.sampled_from([0.0, 0.0, 0.005, 0.5, 3.0]), min_size=9, max_size=9),
    faults=st.lists(
        st.tuples(
            st.sampled_from(["crash", "cut", "reset"]),
            st.integers(0, 100),
            st.integers(0, 100),
            st.sampled_from([0.0, 0.01, 1.0, 10.0, 60.0]),
        ),
        max_size=6,
    ),
)
def test_ends_in_a_full_mesh(seed, count, shape, starts_s, faults):
    check_full_mesh(run_mesh(seed, count, shape, starts_s, faults))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("count", [2, 3, 5, 9])
def test_all_start_at_once(count, shape):
    for seed in range(3):
        check_full_mesh(run_mesh(seed, count, shape, [0.0] * 9, []))


def test_one_seed_one_history():
    def history(seed: int) -> list[list[str]]:
        faults = [("crash", 1, 0, 1.0), ("cut", 0, 2, 10.0)]
        return [server.lines for server in run_mesh(seed, 5, "seed", [0.01] * 9, faults)]

    assert history(7) == history(7)
    assert history(7) != history(8)


def test_made_up_names_of_clusters_end_in_one():
    for seed in range(5):
        servers = run_mesh(seed, 5, "seed", [0.2] * 9, [], clusters=[""] * 5)

        check_full_mesh(servers)
        assert len({server.cluster_name for server in servers}) == 1


def test_a_configured_name_of_a_cluster_wins_over_made_up_ones():
    for seed in range(5):
        names = ["", "", "c1", "", ""]
        servers = run_mesh(seed, 5, "chain", [0.2] * 9, [], clusters=names)

        check_full_mesh(servers)
        assert {server.cluster_name for server in servers} == {"c1"}


def test_two_clusters_stay_apart():
    servers = run_mesh(1, 4, "seed", [0.0] * 9, [], clusters=["c1", "c1", "c2", "c2"])
    routes = [sorted(r.remote_id for r in server.described().values()) for server in servers]

    assert routes == [["N2X0"], ["N1X0"], [], []]
    assert any('cluster name "c2" does not match "c1"' in line for line in servers[0].lines)
    assert any('cluster name "c1" does not match "c2"' in line for line in servers[3].lines)


def test_a_route_to_itself_is_tried_once():
    (server,) = run_mesh(1, 1, "seed", [0.0] * 9, [])

    tries = [line for line in server.lines if line.startswith("Trying to connect")]
    assert len(tries) == 1
    assert (
        'Detected route to self, ignoring "nats-route://route:xxxxx@10.0.0.1:6222"' in server.lines
    )
