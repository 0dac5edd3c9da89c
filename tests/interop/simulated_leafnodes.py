"""Hubs and leaf nodes in virtual time: their real actors and planes, and one seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework_leafnode import plugin
from framework_leafnode.config import LeafConfig
from framework_leafnode.introduction import introduce
from framework_leafnode.leaf_manager import Lasting, LeafManager
from framework_leafnode.logins import LeafLogins, LeafUser
from framework_leafnode.settings import LeafSettings, RemoteSettings

from framework.peering import PeerUrl
from framework.spec import LinkKind
from tests.interop.simulated_clusters import (
    ACCOUNT,
    ClusterServer,
    Subscription,
    World,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from framework.spec import LinkId

__all__ = ["ACCOUNT", "Subscription", "Tree"]

LEAFS = 7422


class Server(ClusterServer):
    """One server, with its managers of routes and of leaf nodes."""

    def __init__(self, world: Tree, cluster: str, number: int, generation: int) -> None:
        config = world.leaf_config(cluster, number)
        super().__init__(
            world,
            cluster,
            number,
            generation,
            plugin=plugin,
            block=config,
            kind=LinkKind.LEAF,
            port=LEAFS,
        )
        self.begin_other(LeafManager, Lasting(config, introduce(self, config), is_dialing=True))

    def withdraw_login(self, link: LinkId) -> None:
        """Nobody was asked."""

    def hubs(self) -> int:
        """Return how many hubs it is connected to."""
        return sum(it.is_spoke for it in self.described().leafs.registered())


class Tree(World[Server]):
    """Clusters of servers, each of which is a leaf node of another one, but for the first.

    Args:
        seed: Same seed, same history.
        sizes: Servers of each cluster, by its name: one letter.
        hub_of: The cluster that is the hub of another one.
    """

    def __init__(self, seed: int, sizes: Mapping[str, int], hub_of: Mapping[str, str]) -> None:
        super().__init__(seed, "leaf nodes", sizes)
        self.hub_of = hub_of
        self.start_all()

    def make(self, cluster: str, number: int, generation: int) -> Server:
        return Server(self, cluster, number, generation)

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
