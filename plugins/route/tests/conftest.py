"""Run scripts of commands against the output they expect, in the format of cockroachdb/datadriven.

A script is blocks with blank lines between them: comments (`#`), a directive (`name key=value`),
input lines, `----`, and the output. `pytest --rewrite` writes the output anew; review the diff.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from framework_route.config import RouteConfig
from framework_route.introduction import introduce, route_info
from framework_route.login import Login
from framework_route.modes import MODES
from framework_route.route_manager import Lasting, RouteManager
from framework_route.settings import MeshSettings
from framework_route.url import RouteUrl
from msgspec.structs import replace

from framework.actors import ActorSystem, SimulatedDispatcher, Supervision
from framework.dataplane import Core, PlaneLimits, link_rows
from framework.spec import Closed, Delivered, DialFailed, LinkEvents, LinkKind, Listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_ARGUMENT = re.compile(r"([^\s=]+)=(\S*)")


@dataclass(frozen=True)
class Command:
    line: int  # of the directive, 1-based
    name: str
    arguments: dict[str, str]
    input: str
    expected: str
    head: str  # up to and with `----`, as it stands


def parse(text: str) -> Iterator[Command | str]:
    lines = text.splitlines(keepends=True)
    at = 0
    while at < len(lines):
        if not lines[at].strip() or lines[at].startswith("#"):
            yield lines[at]
            at += 1
            continue
        start = at
        while lines[at].rstrip() != "----":
            at += 1
        first = at + 1
        at = first
        while at < len(lines) and lines[at].strip():
            at += 1
        name, _, rest = lines[start].strip().partition(" ")
        yield Command(
            line=start + 1,
            name=name,
            arguments=dict(_ARGUMENT.findall(rest)),
            input="".join(lines[start + 1 : first - 1]),
            expected="".join(lines[first:at]),
            head="".join(lines[start:first]),
        )


def run(path: Path, handle: Callable[[Command], str], *, rewrite: bool) -> str:
    """Return what differs, or write it back when `rewrite`."""
    differences, written = [], []
    for part in parse(path.read_text()):
        if isinstance(part, str):
            written.append(part)
            continue
        actual = handle(part)
        written += [part.head, actual]
        if actual != part.expected:
            differences.append(
                f"{path.name}:{part.line}: {part.name}\n"
                f"--- expected\n{part.expected}+++ actual\n{actual}"
            )
    if rewrite:
        path.write_text("".join(written))
        return ""
    return "\n".join(differences)


@pytest.fixture
def run_script(request):
    """Give a function that runs one of the scripts, and fails with the difference."""

    def run_named(name: str, handle: Callable[[Command], str]) -> None:
        path = Path(__file__).parent / "scripts" / name
        difference = run(path, handle, rewrite=request.config.getoption("--rewrite", default=False))

        assert not difference, difference

    return run_named


# -- a simulated network: real actors and real planes in virtual time ------------------------------

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

    def add(
        self, number: int, routes: tuple[str, ...], cluster: str = "c1", pool_size: int = 3
    ) -> Server:
        """Start a server at 10.0.0.<number>."""
        return Server(self, number, routes, cluster, pool_size)

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


ACCOUNTS = ("$G", "$SYS", "A", "B")


class Accounts:
    """The accounts that every server has."""

    system_account = "$SYS"

    def __init__(self, core: Core) -> None:
        self._indexes = {name: core.add_account(name.encode()) for name in ACCOUNTS}
        self.index = self._indexes.__getitem__
        self.get = self._indexes.get

    def fetch(self, name: str) -> None:
        """Find none: there are no others."""


@dataclass
class Server:
    """One server, as the plugin sees it."""

    network: Network
    number: int
    routes: tuple[str, ...]
    cluster: str = "c1"
    pool_size: int = 3
    generation: int = 0
    is_gone: bool = False
    client_info: dict = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    reports: list[tuple[str, str]] = field(default_factory=list)
    pins: tuple[str, ...] = ()
    delivered: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.host = f"10.0.0.{self.number}"
        self.name = f"s{self.number}"
        self.server_id = f"N{self.number}X{self.generation}"
        self.cluster_name = self.cluster
        self.core = Core(PlaneLimits(), seed=self.number)
        self.plane = Plane(self)
        self.log = Log(self.lines)
        self.config = SimpleNamespace(
            values={
                "no_header_support": False,
                "max_payload": 1 << 20,
                "client_advertise": None,
                "ping_interval": 120.0,
                "ping_max": 2,
                "write_deadline": 10.0,
            }
        )
        self.accounts = Accounts(self.core)
        self.compression_modes = {mode.name: mode for mode in MODES}
        self.ends: dict[int, End] = {}
        self.is_pumping_soon = False
        self.system = ActorSystem(self.network.dispatcher, name=self.server_id)
        self.network.hosts[self.host] = self
        self.route_config = RouteConfig(
            name=self.cluster,
            host=self.host,
            port=PORT,
            advertise="",
            login=Login("route", "s3cret"),
            mesh=MeshSettings(
                routes=tuple(RouteUrl(host, PORT, "route", "s3cret") for host in self.routes),
                user="route",
                password="s3cret",
                pool_size=self.pool_size,
            ),
            accounts=self.pins,
        )
        local = introduce(self, self.route_config)
        self.manager = self.system.spawn(
            RouteManager,
            supervision=Supervision(),
            server=self,
            lasting=Lasting(self.route_config, local, is_dialing=True),
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

    def reachable_hosts(self, host):
        return (host,)

    def tls_peer(self, link):
        return None

    def update_client_info(self, fields) -> None:
        self.client_info.update(fields)

    def report_opened(self, connection) -> None:
        self.reports.append(("opened", f"{connection.name} {connection.host}"))

    def report_closed(self, connection, reason) -> None:
        self.reports.append((reason.text, f"{connection.name} {connection.host}"))

    def dial(self, host, port, kind, token, timeout_s, *, tls_name="", avoided=(), turn=0) -> None:
        assert kind is LinkKind.ROUTE
        assert (tls_name, avoided) == ("", ())
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
                end = self.ends.pop(event.link, None)
                if end is None:
                    continue  # of a raw peer
                self.network.carry(end, end.other.server.hanging_up(end.other.link))
            if isinstance(event, Delivered):
                self.delivered += [payload for *_, payload in event.batch.detach()]
        events = [event for event in events if not isinstance(event, Delivered)]
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

    def reload(self, *, pool_size: int | None = None, pins: tuple[str, ...] | None = None) -> None:
        """Follow another configuration."""
        self.pool_size = self.pool_size if pool_size is None else pool_size
        self.pins = self.pins if pins is None else pins
        config = self.route_config
        self.route_config = replace(
            config, mesh=replace(config.mesh, pool_size=self.pool_size), accounts=self.pins
        )
        local = route_info(self, self.route_config)
        self.tell(RouteManager.Reload(self.route_config, local))

    def subscribe(self) -> Server:
        """Take from now on what is published in any account."""
        for account in ACCOUNTS:
            self.core.subscribe_sink(self.accounts.index(account), b"sim.>")
        return self

    def publish(self, account: str, payload: bytes) -> None:
        """Let everybody in an account have a message."""
        self.plane.publish(self.accounts.index(account), [(b"sim.x", b"", b"", payload)])

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
            self.network,
            self.number,
            self.routes,
            self.cluster,
            pool_size=self.pool_size,
            pins=self.pins,
            generation=self.generation + 1,
        )

    # -- what is asked at the end

    def open_links(self):
        """Return the links that are open, as the plane sees it."""
        self.core.open_listing(1, links=True, kinds=[LinkKind.ROUTE])
        self.core.next_rows(1, 1)
        self.core.turn(self.network.dispatcher.now_ns())
        events = self.core.take_events()
        (answer,) = [event for event in events if isinstance(event, Listed)]
        assert len(events) == 1
        return {row.link for row in link_rows(answer.data)}

    def described(self):
        reply = self.manager.ask(RouteManager.Describe(), block=False)
        while not reply.is_done:
            self.network.dispatcher.run_for(0.001)
        return reply.get().routes


@pytest.fixture(scope="session")
def make_network():
    """Give the class of simulated networks."""
    return Network
