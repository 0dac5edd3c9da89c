"""Superclusters in virtual time: real actors of routes and gateways, real planes, one seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework_gateway import plugin
from framework_gateway.config import GatewayConfig
from framework_gateway.gateway_manager import GatewayManager, Lasting
from framework_gateway.introduction import introduce
from framework_gateway.settings import MeshSettings, RemoteSettings

from framework.dataplane import subscription_rows
from framework.peering import Login, PeerUrl
from framework.spec import LinkKind, Listed
from tests.interop.simulated_clusters import ACCOUNT, ClusterServer, Subscription, World

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from framework.spec import Closed, ClosedState, ConnectionInfo, LinkId

__all__ = ["ACCOUNT", "Subscription", "Supercluster"]

GATEWAYS = 7222


class Server(ClusterServer):
    """One server of a cluster, with its managers of routes and of gateways."""

    def __init__(self, world: Supercluster, cluster: str, number: int, generation: int) -> None:
        config = world.gateway_config(cluster, number)
        super().__init__(
            world,
            cluster,
            number,
            generation,
            plugin=plugin,
            block=config,
            kind=LinkKind.GATEWAY,
            port=GATEWAYS,
        )
        self.begin_other(GatewayManager, Lasting(config, introduce(self, config), is_dialing=True))

    def report_opened(self, connection: ConnectionInfo) -> None:
        super().report_opened(connection)
        plugin.framework_connection_opened(self, connection)

    def report_closed(
        self, connection: ConnectionInfo, reason: ClosedState, event: Closed | None = None
    ) -> None:
        super().report_closed(connection, reason, event)
        plugin.framework_connection_closed(self, connection)

    # -- what is asked at the end

    def gateways(self) -> Mapping[str, LinkId]:
        """Return the registered outbound connections, by cluster."""
        mesh = self.described().mesh
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


class Supercluster(World[Server]):
    """Clusters of servers, and what they want; everything that happens comes from the seed.

    Args:
        seed: Same seed, same history.
        sizes: Servers of each cluster, by its name: one letter.
    """

    def __init__(self, seed: int, sizes: Mapping[str, int]) -> None:
        super().__init__(seed, "supercluster", sizes)
        self.start_all()

    def make(self, cluster: str, number: int, generation: int) -> Server:
        return Server(self, cluster, number, generation)

    def gateway_config(self, cluster: str, number: int) -> GatewayConfig:
        """Return the block `gateway` of a server: it knows one server of each other cluster."""
        others = [name for name in self.sizes if name != cluster]
        remotes = [RemoteSettings(it, (PeerUrl(self.address(it, 1), GATEWAYS),)) for it in others]
        return GatewayConfig(
            name=cluster,
            host=self.address(cluster, number),
            port=GATEWAYS,
            advertise="",
            login=Login(),
            mesh=MeshSettings(remotes=tuple(remotes)),
        )

    def pairs_apart(self) -> Iterable[tuple[str, str]]:
        """Return all pairs of servers of different clusters."""
        hosts = [(server.cluster, server.host) for server in self.servers]
        return [(a, b) for one, a in hosts for other, b in hosts if one < other]
