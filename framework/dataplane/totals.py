"""Counters of a whole data plane."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from framework.dataplane.link import LinkKind
from framework.dataplane.scopes import Scope


class KindTotals(Struct, frozen=True):
    """Sums over all links of one kind since the start, but for what says otherwise."""

    links: int
    """Of this moment."""
    opened: int
    in_msgs: int
    in_bytes: int
    out_msgs: int
    out_bytes: int
    slow: int
    """Links that took longer than the write deadline, or had more waiting than they may."""
    stale: int
    """Links that did not answer PING."""
    stalled: int
    """Times that one was made to wait, since it published to who had much waiting."""


class Totals(Struct, frozen=True):
    """Sums over all links since the start, but for what says otherwise.

    Messages and bytes count payloads with their headers, not protocol lines, as in nats-server.
    """

    kinds: Mapping[LinkKind, KindTotals]
    """Of nats-server's kinds, and of those that this server has."""
    in_msgs: int
    """Of links of all kinds, and of this process itself."""
    in_bytes: int
    out_msgs: int
    out_bytes: int
    subscriptions: int
    """Of clients and sinks here, of this moment."""
    dropped: int
    """Messages that full sinks did not take."""
    answers_dropped: int
    """Requests to imported services whose answers find no way back, since later ones took it."""
    circles: int
    """Messages that imports would have led round in a circle."""

    @property
    def slow(self) -> int:
        """Slow consumers of all kinds."""
        return sum(kind.slow for kind in self.kinds.values())

    @property
    def stale(self) -> int:
        """Stale connections of all kinds."""
        return sum(kind.stale for kind in self.kinds.values())


class PeerTraffic(Struct, frozen=True):
    """What passed between this server and those of one scope, for one account."""

    in_msgs: int
    in_bytes: int
    out_msgs: int
    out_bytes: int


class AccountTraffic(Struct, frozen=True):
    """What passed through one account since the start; counted as in `Totals`."""

    in_msgs: int
    """From its clients, and from other servers."""
    in_bytes: int
    out_msgs: int
    """To whoever received what was published in it, other servers among them."""
    out_bytes: int
    slow_consumers: int
    """Clients of it that were closed for it."""
    peers: Mapping[Scope, PeerTraffic]
    """What other servers have of these: ROUTE, GATEWAY, LEAF."""


class SublistCounters(Struct, frozen=True):
    """What the subject tables have done since the start."""

    count: int
    """Subscriptions that stand in them now: of clients, of sinks, and the interest of servers."""
    inserts: int
    removes: int
    hits: int
    """Matches that were remembered. Repeated lines are not looked up again, and don't count."""
    misses: int
    """Matches that were worked out."""
    cached: int
    """Matches that are remembered now."""
    fanout: int
    """Receivers of all matches that were worked out."""
    fanout_max: int
    """The most receivers of one."""
    elsewhere: int = 0
    """Of `count`: interest of other clusters."""

    @property
    def subscriptions(self) -> int:
        """Return those of this cluster, as nats-server counts them; it keeps others apart."""
        return self.count - self.elsewhere
