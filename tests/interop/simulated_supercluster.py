"""Superclusters in virtual time: real actors of routes and gateways, real planes, one seed."""

from __future__ import annotations

import random
from inspect import signature
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from framework_gateway import plugin as gateway_plugin
from framework_gateway.config import GatewayConfig
from framework_gateway.gateway_manager import GatewayManager
from framework_gateway.gateway_manager import Lasting as GatewayLasting
from framework_gateway.introduction import introduce as introduce_gateway
from framework_gateway.settings import MeshSettings, RemoteSettings
from framework_route.config import RouteConfig
from framework_route.info_fields import collect_fields
from framework_route.introduction import introduce as introduce_route
from framework_route.modes import MODES
from framework_route.route_manager import Lasting as RouteLasting
from framework_route.route_manager import RouteManager
from framework_route.settings import MeshSettings as RouteSettings

from framework.actors import Supervision
from framework.dataplane import subscription_rows
from framework.peering import Login, PeerUrl
from framework.spec import DialFailed, LinkEvents, LinkKind, Listed
from framework.testing.simulation import SimulatedNetwork, SimulatedServer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from framework.spec import Closed, ClosedState, ConnectionInfo, Delivered, LinkId

ROUTES, GATEWAYS = 6222, 7222
ACCOUNTS = ("$G", "$SYS", "A")
ACCOUNT = 2
_GATEWAY_TOKENS = 1_000_000
"""Tokens of dials from here on are those of gateways."""


class _Hooks:
    """Calls the hooks of the gateway plugin that the route plugin offers, as pluggy would."""

    def describe(self, hook: str, /, **arguments: Any) -> list[tuple[str, object]]:
        return [("gateway", self._call(hook, arguments))]

    def notify(self, _log: object, hook: str, /, **arguments: Any) -> None:
        self._call(hook, arguments)

    def _call(self, hook: str, arguments: dict[str, Any]) -> Any:
        function = getattr(gateway_plugin, hook)
        names = signature(function).parameters
        return function(**{name: it for name, it in arguments.items() if name in names})


class Subscription:
    """Something that a server wants, and what it got; `is_service`: it answers what has a reply."""

    def __init__(
        self, server: Server, subject: str, queue: str, *, is_service: bool = False
    ) -> None:
        self.server, self.subject, self.queue = server, subject, queue
        self.is_service = is_service
        self.got: list[bytes] = []
        self.sink = server.core.subscribe_sink(ACCOUNT, subject.encode(), queue.encode() or None)
        server.subscriptions[self.sink] = self

    def take(self, messages: Iterable[tuple[bytes, bytes, bytes, bytes]]) -> None:
        """Keep the payloads of messages, and answer with them."""
        for _, reply, _, payload in messages:
            self.got.append(payload)
            if reply and self.is_service:
                self.server.plane.publish(ACCOUNT, [(reply, b"", b"", payload)])

    def end(self) -> None:
        """Want it no more."""
        self.server.plane.unsubscribe_sink(self.sink)
        del self.server.subscriptions[self.sink]


class Server(SimulatedServer):
    """One server of a cluster, with its managers of routes and of gateways."""

    def __init__(self, world: Supercluster, cluster: str, number: int, generation: int = 0) -> None:
        self.world, self.cluster = world, cluster
        self.number, self.generation = number, generation
        self._components: dict[str, Any] = {}
        self.gateway_config = world.gateway_config(cluster, self.address)
        super().__init__(
            world.network,
            self.address,
            name=f"{cluster}{number}",
            server_id=f"N{cluster}{number}X{generation}",
            listeners={ROUTES: LinkKind.ROUTE, GATEWAYS: LinkKind.GATEWAY, 4222: LinkKind.CLIENT},
            seed=world.seed * 100 + ord(cluster) + number,
            accounts=ACCOUNTS,
            kinds=tuple(gateway_plugin.framework_link_kinds(self)),
        )
        self.subscriptions: dict[int, Subscription] = {}
        self.compression_modes = {mode.name: mode for mode in MODES}
        self.hooks = _Hooks()
        self.set_cluster_name(cluster)
        self._begin_routes()
        self._begin_gateways()
        self.start()

    @property
    def address(self) -> str:
        """Where it is."""
        return f"10.0.{ord(self.cluster)}.{self.number}"

    # -- what plugins ask of the configuration

    @property
    def config(self) -> Any:
        values = {
            "no_header_support": False,
            "max_payload": 1 << 20,
            "client_advertise": None,
            "ping_interval": 120.0,
            "ping_max": 2,
            "write_deadline": 10.0,
        }
        return SimpleNamespace(values=values, section_as=self.section_as)

    def section_as(self, record: type) -> Any:
        """Return the block `gateway`."""
        return self.gateway_config if record is GatewayConfig else None

    def component(self, name: str) -> Any:
        return self._components[name]

    def _begin_routes(self) -> None:
        urls = tuple(
            PeerUrl(it, ROUTES, "route", "pw", "nats-route")
            for it in self.world.addresses(self.cluster)
            if it != self.address
        )
        config = RouteConfig(
            name=self.cluster,
            host=self.host,
            port=ROUTES,
            advertise="",
            login=Login("route", "pw"),
            mesh=RouteSettings(routes=urls, user="route", password="pw", pool_size=3),
        )

        def told(kind: Any) -> Any:
            return lambda what: self._components["route_manager"].tell(kind(what))

        fields = collect_fields(self, told(RouteManager.ChangeFields), told(RouteManager.TellAll))
        lasting = RouteLasting(config, introduce_route(self, config, fields), is_dialing=True)
        self._components["route_manager"] = self.system.spawn(
            RouteManager, supervision=Supervision(), server=self, lasting=lasting
        )

    def _begin_gateways(self) -> None:
        config = self.gateway_config
        lasting = GatewayLasting(config, introduce_gateway(self, config), is_dialing=True)
        while next(lasting.tokens) < _GATEWAY_TOKENS:
            pass  # dials of both have one space of tokens here
        self._components["gateway_manager"] = self.system.spawn(
            GatewayManager, supervision=Supervision(), server=self, lasting=lasting
        )

    # -- what happens

    def tell(self, message: object) -> None:
        if self.is_gone:
            return
        if isinstance(message, DialFailed):
            is_gateway = message.token >= _GATEWAY_TOKENS
            self._manager(is_gateway=is_gateway).tell(message)
            return
        assert isinstance(message, LinkEvents)
        for is_gateway in (False, True):
            events = tuple(it for it in message.events if self._is_gateway(it) == is_gateway)
            if events:
                self._manager(is_gateway=is_gateway).tell(LinkEvents(events))

    @staticmethod
    def _is_gateway(event: Any) -> bool:
        return getattr(event, "kind", LinkKind.ROUTE) is LinkKind.GATEWAY

    def _manager(self, *, is_gateway: bool) -> Any:
        return self._components["gateway_manager" if is_gateway else "route_manager"]

    def report_opened(self, connection: ConnectionInfo) -> None:
        super().report_opened(connection)
        gateway_plugin.framework_connection_opened(self, connection)

    def report_closed(
        self, connection: ConnectionInfo, reason: ClosedState, event: Closed | None = None
    ) -> None:
        super().report_closed(connection, reason, event)
        gateway_plugin.framework_connection_closed(self, connection)

    def take_delivered(self, event: Delivered) -> None:
        its = self.subscriptions.get(event.sink)
        messages = event.batch.detach()
        if its is not None:
            its.take(messages)

    # -- what is asked at the end

    def gateways(self) -> Mapping[str, LinkId]:
        """Return the registered outbound connections, by cluster."""
        reply = self._components["gateway_manager"].ask(GatewayManager.Describe(), block=False)
        while not reply.is_done:
            self.network.dispatcher.run_for(0.001)
        mesh = reply.get().mesh
        return {name: it.link for name in mesh.remotes if (it := mesh.outbound(name))}

    def interest(self, link: LinkId) -> list[tuple[str, str]]:
        """Return what the peer of an outbound connection wants of the account: subject, queue."""
        self.core.open_listing(2, link=link, account=ACCOUNT)
        rows: list[tuple[str, str]] = []
        while True:
            self.core.next_rows(1, 2)
            self.core.turn(self.network.dispatcher.now_ns())
            answers = [it for it in self.core.take_events() if isinstance(it, Listed)]
            rows += [
                (row.subject.decode(), row.queue.decode())
                for it in answers
                for row in subscription_rows(it.data)
            ]
            if not answers[-1].more:
                return rows


class Supercluster:
    """Clusters of servers, and what they want; everything that happens comes from the seed.

    Args:
        seed: Same seed, same history.
        sizes: Servers of each cluster, by its name: one letter.
    """

    def __init__(self, seed: int, sizes: Mapping[str, int]) -> None:
        self.seed, self.sizes = seed, sizes
        self.network = SimulatedNetwork(seed)
        self.rng = random.Random(f"{seed} supercluster")
        self.servers: list[Server] = []
        for cluster, count in sizes.items():
            for number in range(1, count + 1):
                self.servers.append(Server(self, cluster, number))
                self.network.dispatcher.run_for(self.rng.choice((0.0, 0.01, 1.0)))

    def addresses(self, cluster: str) -> Sequence[str]:
        """Return where the servers of a cluster are."""
        return [f"10.0.{ord(cluster)}.{it}" for it in range(1, self.sizes[cluster] + 1)]

    def gateway_config(self, cluster: str, address: str) -> GatewayConfig:
        """Return the block `gateway` of a server: it knows one server of each other cluster."""
        others = [name for name in self.sizes if name != cluster]
        remotes = [RemoteSettings(it, (PeerUrl(self.addresses(it)[0], GATEWAYS),)) for it in others]
        return GatewayConfig(
            name=cluster,
            host=address,
            port=GATEWAYS,
            advertise="",
            login=Login(),
            mesh=MeshSettings(remotes=tuple(remotes)),
        )

    @property
    def subscriptions(self) -> list[Subscription]:
        """Everything that anybody wants."""
        return [it for server in self.servers for it in server.subscriptions.values()]

    def pairs_apart(self) -> Iterable[tuple[str, str]]:
        """Return all pairs of servers of different clusters."""
        hosts = [(server.cluster, server.host) for server in self.servers]
        return [(a, b) for one, a in hosts for other, b in hosts if one < other]

    def restart(self, server: Server, away_s: float) -> None:
        """End a server without a word, and start it again; it wants the same as before."""
        wanted = list(server.subscriptions.values())
        server.crash()
        self.network.dispatcher.run_for(away_s)
        again = Server(self, server.cluster, server.number, server.generation + 1)
        self.servers[self.servers.index(server)] = again
        for it in wanted:
            Subscription(again, it.subject, it.queue, is_service=it.is_service)
