"""Clusters in virtual time: real actors of routes and of one more plugin, real planes."""

from __future__ import annotations

import random
from inspect import signature
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from framework_route.config import RouteConfig
from framework_route.info_fields import collect_fields
from framework_route.introduction import introduce
from framework_route.modes import MODES
from framework_route.route_manager import Lasting, RouteManager
from framework_route.settings import MeshSettings

from framework.actors import Supervision
from framework.peering import Login, PeerManager, PeerUrl
from framework.spec import UNLIMITED, DialFailed, LinkEvents, LinkKind
from framework.testing.simulation import SimulatedNetwork, SimulatedServer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import ModuleType

    from framework.spec import Delivered

ROUTES = 6222
ACCOUNTS = ("$G", "$SYS", "A")
ACCOUNT = 2
_ACCOUNT_SPEC = SimpleNamespace(limits=SimpleNamespace(max_leafnodes=UNLIMITED))
_OTHER_TOKENS = 1_000_000
"""Tokens of dials from here on are those of the other plugin."""


class _Hooks:
    """Calls the hooks of a plugin that the route plugin offers, as pluggy would."""

    def __init__(self, plugin: ModuleType) -> None:
        self._plugin = plugin

    def describe(self, hook: str, /, **arguments: Any) -> list[tuple[str, object]]:
        return [(self._plugin.__name__, self._call(hook, arguments))]

    def notify(self, _log: object, hook: str, /, **arguments: Any) -> None:
        self._call(hook, arguments)

    def _call(self, hook: str, arguments: dict[str, Any]) -> Any:
        function = getattr(self._plugin, hook, None)
        if function is None:
            return {}
        names = signature(function).parameters
        return function(**{name: it for name, it in arguments.items() if name in names})


class Subscription:
    """Something that a server wants, and what it got; `is_service`: it answers what has a reply."""

    def __init__(
        self, server: ClusterServer, subject: str, queue: str, *, is_service: bool = False
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


class ClusterServer(SimulatedServer):
    """One server of a cluster, with its route manager and the manager of another plugin.

    Args:
        world: Where it is.
        cluster: One letter.
        number: In the cluster, from 1.
        generation: How often it was started before.
        plugin: The other one.
        block: Its block of the configuration.
        kind: Its links.
        port: Where these are accepted.
    """

    def __init__(
        self,
        world: World[Any],
        cluster: str,
        number: int,
        generation: int,
        *,
        plugin: ModuleType,
        block: object,
        kind: LinkKind,
        port: int,
    ) -> None:
        self.world, self.cluster = world, cluster
        self.number, self.generation = number, generation
        self._block, self._kind = block, kind
        self._components: dict[str, Any] = {}
        super().__init__(
            world.network,
            world.address(cluster, number),
            name=f"{cluster}{number}",
            server_id=f"N{cluster}{number}X{generation}",
            listeners={ROUTES: LinkKind.ROUTE, port: kind, 4222: LinkKind.CLIENT},
            seed=world.seed * 100 + ord(cluster) + number,
            accounts=ACCOUNTS,
            kinds=tuple(plugin.framework_link_kinds(self)),
        )
        self.accounts.get = lambda name: _ACCOUNT_SPEC if name in ACCOUNTS else None
        self.accounts.jetstream_domain, self.accounts.default_domain = None, lambda _name: None
        self.subscriptions: dict[int, Subscription] = {}
        self.compression_modes = {mode.name: mode for mode in MODES}
        self.hooks = _Hooks(plugin)
        self.set_cluster_name(cluster)
        self._begin_routes()

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
        return SimpleNamespace(
            values=values, section=dict[str, object]().get, section_as=self.section_as
        )

    def section_as(self, record: type) -> Any:
        """Return the block of the other plugin."""
        return self._block if record is type(self._block) else None

    def component(self, name: str) -> Any:
        return self._components[name]

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
            mesh=MeshSettings(routes=urls, user="route", password="pw", pool_size=3),
        )

        def told(kind: Any) -> Any:
            return lambda what: self._components["route_manager"].tell(kind(what))

        fields = collect_fields(self, told(RouteManager.ChangeFields), told(RouteManager.TellAll))
        self.begin(RouteManager, Lasting(config, introduce(self, config, fields), is_dialing=True))

    def begin_other(self, manager: type[PeerManager], lasting: Any) -> None:
        """Begin the manager of the other plugin, which dials at once; then the server."""
        while next(lasting.tokens) < _OTHER_TOKENS:
            pass  # dials of both have one space of tokens here
        self.begin(manager, lasting)
        self.start()

    def begin(self, manager: type[PeerManager], lasting: Any) -> None:
        """Begin a manager."""
        name = "route_manager" if manager is RouteManager else self.other_manager
        self._components[name] = self.system.spawn(
            manager, supervision=Supervision(), server=self, lasting=lasting
        )

    @property
    def other_manager(self) -> str:
        """Return what the plugin calls its manager."""
        return f"{self._kind.name.lower()}_manager"

    # -- what happens

    def tell(self, message: object) -> None:
        if self.is_gone:
            return
        if isinstance(message, DialFailed):
            self._manager(is_other=message.token >= _OTHER_TOKENS).tell(message)
            return
        assert isinstance(message, LinkEvents)
        for is_other in (False, True):
            events = tuple(it for it in message.events if self._is_others(it) == is_other)
            if events:
                self._manager(is_other=is_other).tell(LinkEvents(events))

    def _is_others(self, event: Any) -> bool:
        return getattr(event, "kind", LinkKind.ROUTE) is self._kind

    def _manager(self, *, is_other: bool) -> Any:
        return self._components[self.other_manager if is_other else "route_manager"]

    def take_delivered(self, event: Delivered) -> None:
        its = self.subscriptions.get(event.sink)
        messages = event.batch.detach()
        if its is not None:
            its.take(messages)

    # -- what is asked at the end

    def described(self) -> Any:
        """Return what the manager of the other plugin shows to monitoring."""
        reply = self._manager(is_other=True).ask(PeerManager.Describe(), block=False)
        while not reply.is_done:
            self.network.dispatcher.run_for(0.001)
        return reply.get()


S = TypeVar("S", bound=ClusterServer)


class World(Generic[S]):
    """Clusters of servers, and what they want; everything that happens comes from the seed.

    Args:
        seed: Same seed, same history.
        title: Tells the chance of this kind of world from others.
        sizes: Servers of each cluster, by its name: one letter.
    """

    def __init__(self, seed: int, title: str, sizes: Mapping[str, int]) -> None:
        self.seed, self.sizes = seed, sizes
        self.network = SimulatedNetwork(seed)
        self.rng = random.Random(f"{seed} {title}")
        self.servers: list[S] = []

    def start_all(self) -> None:
        """Start all servers, one after the other."""
        for cluster, count in self.sizes.items():
            for number in range(1, count + 1):
                self.servers.append(self.make(cluster, number, 0))
                self.network.dispatcher.run_for(self.rng.choice((0.0, 0.01, 1.0)))

    def make(self, cluster: str, number: int, generation: int) -> S:
        """Start a server."""
        raise NotImplementedError

    @staticmethod
    def address(cluster: str, number: int) -> str:
        """Return where a server is."""
        return f"10.0.{ord(cluster)}.{number}"

    @property
    def subscriptions(self) -> list[Subscription]:
        """Everything that anybody wants."""
        return [it for server in self.servers for it in server.subscriptions.values()]

    def restart(self, server: S, away_s: float) -> None:
        """End a server without a word, and start it again; it wants the same as before."""
        wanted = list(server.subscriptions.values())
        server.crash()
        self.network.dispatcher.run_for(away_s)
        again = self.make(server.cluster, server.number, server.generation + 1)
        self.servers[self.servers.index(server)] = again
        for it in wanted:
            Subscription(again, it.subject, it.queue, is_service=it.is_service)
