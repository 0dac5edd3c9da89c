"""What the mesh knows of connections and of the servers it dials."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from framework.spec import LinkId
    from framework.wire.info import RouteInfo
    from framework_route.url import RouteUrl


@dataclass(frozen=True, slots=True)
class Slot:
    """A place that one connection may take: one per remote server, pool index and account."""

    remote_id: str
    pool_index: int = 0
    """0-based."""
    account: str = ""
    """Of a connection that carries one account only."""


@dataclass(slots=True)
class Target:
    """A server that we dial: configured (explicit), or known by gossip or by a lost route."""

    token: int
    url: RouteUrl
    is_explicit: bool
    remote_id: str = ""
    """Who answered there last, or is said to; empty when nobody has."""
    dial_failures: int = 0
    """Since the last time that it answered."""
    refusals: int = 0
    """Connections in a row that ended before they had settled."""
    was_reached: bool = False
    """It has answered before, so failing to reach it is news."""


@dataclass(slots=True)
class Connection:
    """A connection that exists, a route or on its way to be one."""

    link: LinkId
    host: str
    port: int
    targets: list[Target] = field(default_factory=list)
    """What is dialed again when it closes; more than one when several URLs lead to its server."""
    is_solicited: bool = False
    """We dialed it, or would have if the peer had not been first."""
    is_retried: bool = False
    """Another connection was given up for it, so its loss must be repaired by us too."""
    is_counted: bool = False
    """Accepted and not a route yet; there is a limit to those."""
    remote_id: str = ""
    """As the peer claims; proved as far as anything is once `slot` is set."""
    slot: Slot | None = None
    """The place it holds; None before it is a route and after it was told to close."""
    info: RouteInfo | None = None
    connect_urls: tuple[str, ...] = ()
    """Of the peer, as long as clients may be sent there."""

    @property
    def is_explicit(self) -> bool:
        """Tell whether a configured URL leads here."""
        return any(target.is_explicit for target in self.targets)
