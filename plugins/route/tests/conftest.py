"""Servers of a simulated network with routes: real actors and real planes in virtual time."""

from __future__ import annotations

from types import SimpleNamespace

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
