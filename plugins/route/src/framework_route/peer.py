"""Connections, peers and targets as the mesh keeps them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from framework_route.pool import PoolTerms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from framework.peering import PeerUrl
    from framework.spec import LinkId
    from framework.wire.info import RouteInfo


class Slot(Struct, frozen=True):
    """A slot of one connection: remote server, pool index, account."""

    remote_id: str
    pool_index: int = 0
    """0-based."""
    account: str = ""
    """Of a connection that carries one account only."""

    @property
    def is_first(self) -> bool:
        """Tell whether the pool, and what else belongs to it, begins here."""
        return not self.account and self.pool_index == 0


class Target(Struct):
    """A server to dial: configured (explicit), or known by gossip or by a lost route."""

    token: int
    url: PeerUrl
    is_explicit: bool
    remote_id: str = ""
    """Who answered there last, or is said to; empty when nobody has."""
    slot: Slot | None = None
    """What a further connection to a server is for; None: it is to be the first."""
    dial_failures: int = 0
    """Since the last time that it answered."""
    lost_attempts: int = 0
    """Attempts since its route was lost, those at first that follow each other soon."""
    refusals: int = 0
    """Connections in a row that ended before they had settled, but for those attempts."""
    address: str = ""
    """Where alone it is dialed; empty: at any address of its host."""
    reached_at: str = ""
    """Address where somebody answered last."""
    own_addresses: tuple[str, ...] = ()
    """Those of the host at which this server itself answered."""
    was_reached: bool = False
    """It has answered before, so failing to reach it is news."""
    was_route: bool = False
    """A connection to it has become a route, so it takes us, and is missed."""

    @property
    def place(self) -> Slot:
        """Return the slot that a connection of it takes."""
        return self.slot or Slot(self.remote_id)


class Connection(Struct):
    """A connection that is, or may become, a route."""

    link: LinkId
    host: str
    port: int
    targets: list[Target] = []
    """What is dialed again when it closes; more than one when several URLs lead to its server."""
    is_dialed: bool = False
    """We opened it."""
    is_solicited: bool = False
    """We dialed it, or would have if the peer had not been first."""
    is_confirmed: bool = False
    """The peer has answered on it since it is a route, so the peer has it as one, too."""
    is_retried: bool = False
    """Another connection was given up for it, so its loss must be repaired by us too."""
    is_counted: bool = False
    """Accepted and not a route yet; there is a limit to those."""
    is_hurried: bool = False
    """It ends because of a reload: what takes its place should not be long in coming."""
    remote_id: str = ""
    """As the peer claims; proved as far as anything is once `slot` is set."""
    slot: Slot | None = None
    """The place it holds; None before it is a route and after it was told to close."""
    info: RouteInfo | None = None
    compression: str = "not supported"
    """As `/routez` shows it."""

    @property
    def is_explicit(self) -> bool:
        """Tell whether a configured URL leads here."""
        return any(target.is_explicit for target in self.targets)


class Peer(Struct):
    """A server of the cluster with at least one route here."""

    number: int
    """By which the data plane knows that connections have one server at their end; from 1."""
    info: RouteInfo
    terms: PoolTerms = field(default_factory=PoolTerms)
    connections: dict[Slot, Connection] = {}
    connect_urls: tuple[str, ...] = ()
    """Where clients reach it, as long as they may be sent there."""
    repeating: int = 0
    """Token of the pause after it was told all interest once more; 0: there is none."""
    is_repeat_due: bool = False
    """It has asked for that again during the pause."""

    @property
    def main(self) -> Connection:
        """Return the connection for what concerns the server as a whole."""
        return next((c for slot, c in self.connections.items() if slot.is_first), self._any())

    def _any(self) -> Connection:
        return next(iter(self.connections.values()))

    def pool(self) -> Iterator[Connection]:
        """Yield the connections that are for no single account."""
        return (c for slot, c in self.connections.items() if not slot.account)
