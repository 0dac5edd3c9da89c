"""Hubs and leaf nodes in virtual time: their real actors and planes, and one seed."""

from __future__ import annotations

import random
from inspect import signature
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from framework_leafnode import plugin as leafnode_plugin
from framework_leafnode.config import LeafConfig
from framework_leafnode.introduction import introduce as introduce_leaf
from framework_leafnode.leaf_manager import Lasting as LeafLasting
from framework_leafnode.leaf_manager import LeafManager
from framework_leafnode.logins import LeafLogins, LeafUser
from framework_leafnode.settings import LeafSettings, RemoteSettings
from framework_route.config import RouteConfig
from framework_route.info_fields import collect_fields
from framework_route.introduction import introduce as introduce_route
from framework_route.modes import MODES
from framework_route.route_manager import Lasting as RouteLasting
from framework_route.route_manager import RouteManager
from framework_route.settings import MeshSettings as RouteSettings

from framework.actors import Supervision
from framework.peering import Login, PeerUrl
from framework.spec import UNLIMITED, DialFailed, LinkEvents, LinkKind
from framework.testing.simulation import SimulatedNetwork, SimulatedServer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from framework.spec import Delivered, LinkId

ROUTES, LEAFS = 6222, 7422
ACCOUNTS = ("$G", "$SYS", "A")
ACCOUNT = 2
_LEAF_TOKENS = 1_000_000
"""Tokens of dials from here on are those of hubs."""
_SPEC = SimpleNamespace(limits=SimpleNamespace(max_leafnodes=UNLIMITED))


class _Hooks:
    """Calls the hooks of the leaf node plugin that the route plugin offers, as pluggy would."""

    def describe(self, hook: str, /, **arguments: Any) -> list[tuple[str, object]]:
        return [("leafnode", self._call(hook, arguments))]

    def notify(self, _log: object, hook: str, /, **arguments: Any) -> None:
        self._call(hook, arguments)

    def _call(self, hook: str, arguments: dict[str, Any]) -> Any:
        function = getattr(leafnode_plugin, hook, None)
        if function is None:
            return {}
        names = signature(function).parameters
        return function(**{name: it for name, it in arguments.items() if name in names})


class Subscription:
    """Something that a server wants, and what it got."""

    def __init__(self, server: Server, subject: str, queue: str) -> None:
        self.server, self.subject, self.queue = server, subject, queue
        self.got: list[bytes] = []
        self.sink = server.core.subscribe_sink(ACCOUNT, subject.encode(), queue.encode() or None)
        server.subscriptions[self.sink] = self

    def end(self) -> None:
        """Want it no more."""
        self.server.plane.unsubscribe_sink(self.sink)
        del self.server.subscriptions[self.sink]


class Server(SimulatedServer):
    """One server, with its managers of routes and of leaf nodes."""

    def __init__(self, world: Tree, cluster: str, number: int, generation: int = 0) -> None:
        self.world, self.cluster = world, cluster
        self.number, self.generation = number, generation
        self._components: dict[str, Any] = {}
        self.leaf_config = world.leaf_config(cluster, number)
        super().__init__(
            world.network,
            world.address(cluster, number),
            name=f"{cluster}{number}",
            server_id=f"N{cluster}{number}X{generation}",
            listeners={ROUTES: LinkKind.ROUTE, LEAFS: LinkKind.LEAF, 4222: LinkKind.CLIENT},
            seed=world.seed * 100 + ord(cluster) + number,
            accounts=ACCOUNTS,
            kinds=tuple(leafnode_plugin.framework_link_kinds(self)),
        )
        self.accounts.get = lambda name: _SPEC if name in ACCOUNTS else None
        self.accounts.jetstream_domain, self.accounts.default_domain = None, lambda _name: None
        self.subscriptions: dict[int, Subscription] = {}
        self.compression_modes = {mode.name: mode for mode in MODES}
        self.hooks = _Hooks()
        self.set_cluster_name(cluster)
        self._begin_routes()
        self._begin_leafs()
        self.start()

    # -- what plugins ask of the server

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
        return SimpleNamespace(
            values=values, section=dict[str, object]().get, section_as=self.section_as
        )

    def section_as(self, record: type) -> Any:
        """Return the block `leafnodes`."""
        return self.leaf_config if record is LeafConfig else None

    def component(self, name: str) -> Any:
        return self._components[name]

    def withdraw_login(self, link: LinkId) -> None:
        """Nobody was asked."""

    def _begin_routes(self) -> None:
        urls = tuple(
            PeerUrl(self.world.address(self.cluster, it), ROUTES, "route", "pw", "nats-route")
            for it in range(1, self.world.sizes[self.cluster] + 1)
            if it != self.number
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

    def _begin_leafs(self) -> None:
        config = self.leaf_config
        lasting = LeafLasting(config, introduce_leaf(self, config), is_dialing=True)
        while next(lasting.tokens) < _LEAF_TOKENS:
            pass  # dials of both have one space of tokens here
        self._components["leaf_manager"] = self.system.spawn(
            LeafManager, supervision=Supervision(), server=self, lasting=lasting
        )

    # -- what happens

    def tell(self, message: object) -> None:
        if self.is_gone:
            return
        if isinstance(message, DialFailed):
            self._manager(is_leaf=message.token >= _LEAF_TOKENS).tell(message)
            return
        assert isinstance(message, LinkEvents)
        for is_leaf in (False, True):
            events = tuple(it for it in message.events if _is_of_leaf(it) == is_leaf)
            if events:
                self._manager(is_leaf=is_leaf).tell(LinkEvents(events))

    def _manager(self, *, is_leaf: bool) -> Any:
        return self._components["leaf_manager" if is_leaf else "route_manager"]

    def take_delivered(self, event: Delivered) -> None:
        its = self.subscriptions.get(event.sink)
        payloads = [payload for *_, payload in event.batch.detach()]
        if its is not None:
            its.got += payloads

    def hubs(self) -> int:
        """Return how many hubs it is connected to."""
        reply = self._components["leaf_manager"].ask(LeafManager.Describe(), block=False)
        while not reply.is_done:
            self.network.dispatcher.run_for(0.001)
        return sum(it.is_spoke for it in reply.get().leafs.registered())


def _is_of_leaf(event: Any) -> bool:
    return getattr(event, "kind", LinkKind.ROUTE) is LinkKind.LEAF


class Tree:
    """Clusters of servers, each of which is a leaf node of another one, but for the first.

    Args:
        seed: Same seed, same history.
        sizes: Servers of each cluster, by its name: one letter.
        hub_of: The cluster that is the hub of another one.
    """

    def __init__(self, seed: int, sizes: Mapping[str, int], hub_of: Mapping[str, str]) -> None:
        self.seed, self.sizes, self.hub_of = seed, sizes, hub_of
        self.network = SimulatedNetwork(seed)
        self.rng = random.Random(f"{seed} leaf nodes")
        self.servers: list[Server] = []
        for cluster, count in sizes.items():
            for number in range(1, count + 1):
                self.servers.append(Server(self, cluster, number))
                self.network.dispatcher.run_for(self.rng.choice((0.0, 0.01, 1.0)))

    @staticmethod
    def address(cluster: str, number: int) -> str:
        """Return where a server is."""
        return f"10.0.{ord(cluster)}.{number}"

    def leaf_config(self, cluster: str, number: int) -> LeafConfig:
        """Return the block `leafnodes` of a server; it knows one server of its hub."""
        remotes: Sequence[RemoteSettings] = ()
        hub = self.hub_of.get(cluster)
        if hub is not None:
            at = 1 + number % self.sizes[hub]
            url = PeerUrl(self.address(hub, at), LEAFS, "leaf", "pw", "nats-leaf")
            remotes = (RemoteSettings(urls=(url,), account="A"),)
        return LeafConfig(
            host=self.address(cluster, number),
            port=LEAFS,
            advertise="",
            is_advertised=True,
            logins=LeafLogins(users=(LeafUser(name="leaf", password="pw", account="A"),)),
            settings=LeafSettings(remotes=tuple(remotes)),
        )

    @property
    def subscriptions(self) -> list[Subscription]:
        """Everything that anybody wants."""
        return [it for server in self.servers for it in server.subscriptions.values()]

    def restart(self, server: Server, away_s: float) -> None:
        """End a server without a word, and start it again; it wants the same as before."""
        wanted = [(it.subject, it.queue) for it in server.subscriptions.values()]
        server.crash()
        self.network.dispatcher.run_for(away_s)
        again = Server(self, server.cluster, server.number, server.generation + 1)
        self.servers[self.servers.index(server)] = again
        for subject, queue in wanted:
            Subscription(again, subject, queue)
