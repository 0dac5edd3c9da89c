"""Run scripts of commands against the output they expect, in the format of cockroachdb/datadriven.

A script is blocks with blank lines between them: comments (`#`), a directive (`name key=value`),
input lines, `----`, and the output. `pytest --rewrite` writes the output anew; review the diff.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from framework_route.config import RouteConfig
from framework_route.introduction import introduce, route_info
from framework_route.modes import MODES
from framework_route.route_manager import Lasting, RouteManager
from framework_route.settings import MeshSettings
from msgspec.structs import replace

from framework.actors import Supervision
from framework.peering import Login, PeerUrl
from framework.spec import LinkKind
from framework.testing.simulation import SimulatedNetwork, SimulatedServer

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


# -- servers of a simulated network: real actors and real planes in virtual time -------------------

PORT = 6222
ACCOUNTS = ("$G", "$SYS", "A", "B")


class Network(SimulatedNetwork):
    """Servers at 10.0.0.<number>."""

    def add(
        self, number: int, routes: tuple[str, ...], cluster: str = "c1", pool_size: int = 3
    ) -> Server:
        """Start a server."""
        return Server(self, number, routes, cluster, pool_size=pool_size)


class Server(SimulatedServer):
    """One server with its route manager."""

    def __init__(
        self,
        network: Network,
        number: int,
        routes: tuple[str, ...],
        cluster: str = "c1",
        *,
        pool_size: int = 3,
        pins: tuple[str, ...] = (),
        generation: int = 0,
    ) -> None:
        super().__init__(
            network,
            f"10.0.0.{number}",
            name=f"s{number}",
            server_id=f"N{number}X{generation}",
            listeners={PORT: LinkKind.ROUTE, 4222: LinkKind.CLIENT},
            seed=number,
            accounts=ACCOUNTS,
        )
        self.number, self.routes, self.cluster = number, routes, cluster
        self.pool_size, self.pins, self.generation = pool_size, pins, generation
        self.cluster_name = cluster
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
        self.compression_modes = {mode.name: mode for mode in MODES}
        self.route_config = RouteConfig(
            name=self.cluster,
            host=self.host,
            port=PORT,
            advertise="",
            login=Login("route", "s3cret"),
            mesh=MeshSettings(
                routes=tuple(
                    PeerUrl(host, PORT, "route", "s3cret", "nats-route") for host in self.routes
                ),
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
        self.start()

    def tell(self, message) -> None:
        if not self.is_gone:
            self.manager.tell(message)

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

    def listening(self) -> Server:
        """Take from now on what is published in any account."""
        self.subscribe(b"sim.>", ACCOUNTS)
        return self

    def publish(self, account: str, payload: bytes) -> None:
        """Let everybody in an account have a message."""
        self.plane.publish(self.accounts.index(account), [(b"sim.x", b"", b"", payload)])

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

    def described(self):
        reply = self.manager.ask(RouteManager.Describe(), block=False)
        while not reply.is_done:
            self.network.dispatcher.run_for(0.001)
        return reply.get().routes


@pytest.fixture(scope="session")
def make_network():
    """Give the class of simulated networks."""
    return Network
