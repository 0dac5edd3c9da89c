"""Which servers of the cluster are connected by which connection, as a machine without I/O.

Every server is to have exactly one connection to every other one, although both may dial at the
same time, names may clash, and anybody may come, go, or come back as somebody else.

Source: nats-server `route.go`, `addRoute`, `handleDuplicateRoute`, `processImplicitRoute`,
`forwardNewRouteInfoToKnownServers`, `removeRoute`; `client.go`, `reconnect`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from framework.wire.closed_state import ClosedState
from framework.wire.document import build_document
from framework.wire.info import info_line
from framework_route.cluster_name import agree_on_cluster
from framework_route.dialer import Dialer
from framework_route.effect import (
    AcceptClaim,
    Admit,
    ClientUrlsChanged,
    ClusterNameChanged,
    Dismiss,
    Gossip,
    Greet,
    Level,
    LocalChanged,
    Noted,
    NotedOf,
    Wait,
)
from framework_route.info import gossip, route_url
from framework_route.limits import GOSSIPED_MAX, HANDSHAKES_MAX, SETTLED_S
from framework_route.peer import Connection, Slot
from framework_route.url import join_host_port, parse_route_url

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from framework.spec import LinkId
    from framework.wire.info import RouteInfo
    from framework_route.effect import MeshEffect
    from framework_route.peer import Target
    from framework_route.url import RouteUrl

_OTHER_CLUSTER = 'Rejecting connection, cluster name "{theirs}" does not match "{ours}"'
_DUPLICATE_NAME = 'Remote server has a duplicate name: "{name}"'
_NO_DEDICATED_ROUTE = (
    'Not possible to have a dedicated route for account "{account}" between those servers'
)


@dataclass(frozen=True, slots=True)
class MeshSettings:
    """What the configuration says of the mesh."""

    routes: tuple[RouteUrl, ...] = ()
    connect_retries: int = 0
    has_connect_backoff: bool = False
    user: str = ""
    """Sent, with the password, to servers that we know by gossip; configured URLs bring theirs."""
    password: str = ""
    is_advertised: bool = True
    """Clients are told of the other servers."""


class Mesh:
    """The routes of one server: told what happened, it answers what is to be done.

    Args:
        local: How this server introduces itself; `connect_urls` empty when not advertised.
        settings: See there.
    """

    def __init__(self, *, local: RouteInfo, settings: MeshSettings) -> None:
        self._local = local
        self._settings = settings
        self._dialer = Dialer(
            retries=settings.connect_retries, has_backoff=settings.has_connect_backoff
        )
        self._connections: dict[LinkId, Connection] = {}
        self._routes: dict[Slot, Connection] = {}
        self._settling: dict[int, LinkId] = {}
        self._counted = 0
        self._dropped_count = 0
        self._client_urls = local.connect_urls
        self._is_stopping = False

    # -- what may be asked ------------------------------------------------------------------------

    @property
    def local(self) -> RouteInfo:
        """Return how this server introduces itself at the moment."""
        return self._local

    @property
    def routes(self) -> Sequence[Connection]:
        """Return the connections that are routes, in order of registration."""
        return tuple(self._routes.values())

    # -- what happens -----------------------------------------------------------------------------

    def start(self) -> Sequence[MeshEffect]:
        """Dial every configured server."""
        effects: list[MeshEffect] = []
        for url in self._settings.routes:
            effects += self._dialer.dial(self._dialer.add(url, is_explicit=True))
        return effects

    def begin_lame_duck(self) -> Sequence[MeshEffect]:
        """Let nobody send clients here any more: neither this server nor the others.

        Source: nats-server `server.go`, `sendLDMToRoutes`, `sendLDMToClients`.
        """
        self._local = replace(self._local, ldm=True, connect_urls=())
        line = info_line(build_document(self._local))
        return [
            LocalChanged(self._local),
            *(Gossip(route.link, line) for route in self._routes.values()),
            *self._announce(),
        ]

    def stop(self) -> None:
        """Dial nobody, take nobody, and leave the clients alone from now on."""
        self._is_stopping = True

    def receive_opened(
        self, link: LinkId, token: int, host: str, port: int
    ) -> Sequence[MeshEffect]:
        """Begin with a connection; `token` is that of `Dial`, or 0 for one that was accepted."""
        connection = Connection(link, host, port)
        if self._is_stopping:
            return [Dismiss(link, ClosedState.SERVER_SHUTDOWN)]
        if token == 0:
            if self._counted == HANDSHAKES_MAX:
                words = "maximum connections exceeded"
                return [Dismiss(link, ClosedState.MAX_CONNECTIONS_EXCEEDED, words)]
            self._counted += 1
            connection.is_counted = True
            self._connections[link] = connection
            return [Greet(link, self._local, None)]
        target = self._dialer.take(token)
        if target is None:
            return [Dismiss(link, ClosedState.ROUTE_REMOVED)]
        target.dial_failures = 0
        target.was_reached = True
        connection.is_solicited = True
        connection.targets = [target]
        self._connections[link] = connection
        return [Greet(link, self._local, target.url)]

    def receive_claim(
        self, link: LinkId, remote_id: str, cluster: str, *, is_dynamic: bool
    ) -> Sequence[MeshEffect]:
        """Judge the cluster name of a server that dialed us."""
        connection = self._connections.get(link)
        if connection is None:
            return []
        connection.remote_id = remote_id
        settled = self._settle_cluster(remote_id, cluster, is_dynamic=is_dynamic)
        if settled is None:
            return self._reject_cluster(link, cluster)
        return [*settled, AcceptClaim(link)]

    def receive_introduction(self, link: LinkId, info: RouteInfo) -> Sequence[MeshEffect]:
        """Judge whether a connection becomes the route to its server."""
        connection = self._connections.get(link)
        if connection is None:
            return []
        connection.remote_id = info.server_id
        for target in connection.targets:
            target.remote_id = info.server_id
        if info.server_id == self._local.server_id:
            return [Dismiss(link, ClosedState.DUPLICATE_ROUTE)]
        settled: Sequence[MeshEffect] | None = []
        if info.cluster:
            settled = self._settle_cluster(
                info.server_id, info.cluster, is_dynamic=info.cluster_dynamic
            )
        if settled is None:
            return self._reject_cluster(link, info.cluster)
        return [*settled, *(self._refuse(connection, info) or self._register(connection, info))]

    def receive_update(self, link: LinkId, info: RouteInfo) -> Sequence[MeshEffect]:
        """Take what a route says later: of another server, or that it will stop soon."""
        connection = self._connections.get(link)
        if connection is None or connection.slot is None:
            return []
        if info.route_acc_add_reqid or info.gateway:
            return []  # of pools and gateways, which this server has not offered
        if info.server_id != connection.remote_id:
            return self._learn(info)
        if info.ldm:
            connection.connect_urls = ()
            return self._announce()
        if info.cluster:
            settled = self._settle_cluster(
                info.server_id, info.cluster, is_dynamic=info.cluster_dynamic
            )
            return self._reject_cluster(link, info.cluster) if settled is None else settled
        return []

    def receive_closed(self, link: LinkId, reason: ClosedState) -> Sequence[MeshEffect]:
        """Free the place of a connection, and dial its server again if that is up to us."""
        connection = self._connections.pop(link, None)
        if connection is None:
            return []
        self._uncount(connection)
        effects = [_closed(connection, reason), *self._release(connection)]
        if self._is_stopping:
            return effects
        if connection.is_retried and not connection.targets and connection.info is not None:
            self._add_target(connection, connection.info)
        for target in connection.targets:
            effects += self._reconnect(target)
        return effects

    def receive_dial_failed(self, token: int, error: str) -> Sequence[MeshEffect]:
        """Count a server that could not be reached."""
        return self._dialer.fail(token, error)

    def receive_timer(self, token: int) -> Sequence[MeshEffect]:
        """Do what was put off by `Wait`."""
        link = self._settling.pop(token, None)
        connection = self._connections.get(link) if link is not None else None
        if connection is not None:
            for target in connection.targets:
                target.refusals = 0
        target_due = self._dialer.find(token)
        if target_due is None or self._is_stopping:
            return []
        if self._is_connected(target_due):
            self._dialer.take(token)
            return self._yield_to_route(target_due)
        return self._dialer.dial(target_due)

    # -- cluster names ----------------------------------------------------------------------------

    def _settle_cluster(
        self, remote_id: str, cluster: str, *, is_dynamic: bool
    ) -> Sequence[MeshEffect] | None:
        """Agree on one name with a server; None when that is impossible."""
        before = self._local
        agreed = agree_on_cluster(before, cluster, is_dynamic=is_dynamic)
        if agreed is None or agreed == before:
            return None if agreed is None else []
        self._local = agreed
        effects: list[MeshEffect] = [ClusterNameChanged(agreed)]
        if agreed.cluster == before.cluster:
            return effects
        effects.append(Noted(Level.INFO, "Cluster name updated to {name}", {"name": cluster}))
        for other in [c for c in self._routes.values() if c.remote_id != remote_id]:
            effects.append(Dismiss(other.link, ClosedState.CLUSTER_NAME_CONFLICT))
            effects += self._release(other)
        return effects

    def _reject_cluster(self, link: LinkId, theirs: str) -> Sequence[MeshEffect]:
        fields = {"theirs": theirs, "ours": self._local.cluster}
        reason = ClosedState.CLUSTER_NAME_CONFLICT
        return _rejected(link, Level.ERROR, reason, _OTHER_CLUSTER, fields)

    # -- registration -----------------------------------------------------------------------------

    def _refuse(self, connection: Connection, info: RouteInfo) -> Sequence[MeshEffect] | None:
        """Say no to what may not be a route, or is one already; None if nothing is against it."""
        link = connection.link
        if info.server_name and info.server_name == self._local.server_name:
            event, reason = _DUPLICATE_NAME, ClosedState.DUPLICATE_SERVER_NAME
            return _rejected(link, Level.ERROR, reason, event, {"name": info.server_name})
        if info.route_account:
            event, reason = _NO_DEDICATED_ROUTE, ClosedState.PROTOCOL_VIOLATION
            return _rejected(link, Level.DEBUG, reason, event, {"account": info.route_account})
        existing = self._routes.get(Slot(info.server_id))
        if existing is None:
            return None
        self._merge(existing, connection)
        duplicate = 'Detected duplicate remote route "{remote_id}"'
        return [
            NotedOf(link, Level.DEBUG, duplicate, {"remote_id": info.server_id}),
            Dismiss(link, ClosedState.DUPLICATE_ROUTE),
        ]

    def _merge(self, kept: Connection, dropped: Connection) -> None:
        """Let the connection that stays inherit what the other one was for.

        Both servers may have kept the connection that the other one drops; then none is left, which
        is why the loss of the kept one is repaired from here too, whoever dialed it.
        """
        kept.is_retried = True
        kept.is_solicited = kept.is_solicited or dropped.is_solicited
        for target in dropped.targets:
            self._attach(kept, target)
        dropped.targets = []

    def _attach(self, connection: Connection, target: Target) -> None:
        """Remember a further URL that leads to the server of a route."""
        if target.is_explicit or not connection.targets:
            connection.targets = [t for t in connection.targets if t.is_explicit]
            connection.targets.append(target)

    def _register(self, connection: Connection, info: RouteInfo) -> Sequence[MeshEffect]:
        if not info.ip:
            address = join_host_port(connection.host, info.port)
            info = replace(info, ip=f"nats-route://{address}/")
        self._uncount(connection)
        connection.info = info
        connection.slot = Slot(info.server_id)
        connection.connect_urls = info.connect_urls
        self._routes[connection.slot] = connection
        token = self._dialer.next_token()
        self._settling[token] = connection.link
        return [
            Admit(connection.link),
            *self._spread(connection, info),
            *self._announce(),
            Wait(token, SETTLED_S),
        ]

    def _uncount(self, connection: Connection) -> None:
        """End the handshake of an accepted connection, whichever way it ended."""
        self._counted -= connection.is_counted
        connection.is_counted = False

    def _release(self, connection: Connection) -> Sequence[MeshEffect]:
        """Free the place of a connection that ends, so that another one may have it at once."""
        if connection.slot is None:
            return []
        del self._routes[connection.slot]
        connection.slot = None
        return self._announce()

    # -- gossip -----------------------------------------------------------------------------------

    def _spread(self, connection: Connection, info: RouteInfo) -> Iterator[MeshEffect]:
        """Tell the other servers of a new one.

        Every server tells of every new route, so any two servers that have a third one in common
        hear of each other: from that a full mesh follows, in whichever order they came. Since 2.11
        nats-server leaves out what others seem to have told (`gossip_mode`); when many servers
        start at once, that can leave pairs which never hear of each other.

        Cost: one line for each server.
        """
        line = gossip(info)
        for other in self._routes.values():
            if other is not connection:
                yield Gossip(other.link, line)

    def _learn(self, info: RouteInfo) -> Sequence[MeshEffect]:
        """Dial a server that a route has told us of, if it is new."""
        remote_id = info.server_id
        if remote_id == self._local.server_id or Slot(remote_id) in self._routes:
            return []
        if self._dialer.is_dialing(remote_id):
            return []
        try:
            url = parse_route_url(info.ip)
        except ValueError as error:
            return [Noted(Level.ERROR, "Error parsing URL from INFO: {error}", {"error": error})]
        for route in self._settings.routes:
            if route.matches(info.host, info.port) or route.matches(url.host, url.port):
                return []
        if self._dialer.gossiped_count >= GOSSIPED_MAX:
            return self._drop_gossip()
        target = self._dialer.add(
            self._with_login(url, info),
            is_explicit=False,
            remote_id=remote_id,
        )
        return self._dialer.dial(target)

    def _with_login(self, url: RouteUrl, info: RouteInfo) -> RouteUrl:
        """Return the URL of a server that is not configured, with our login if it wants one."""
        settings = self._settings
        return url.with_login(settings.user, settings.password) if info.auth_required else url

    def _drop_gossip(self) -> Sequence[MeshEffect]:
        """Count what is dropped; every doubling of the count is a line in the log."""
        self._dropped_count += 1
        if self._dropped_count & (self._dropped_count - 1):
            return []
        dropped = f"Told of more than {GOSSIPED_MAX} servers at once, dropped {{count}}"
        return [Noted(Level.WARNING, dropped, {"count": self._dropped_count})]

    # -- after a connection -----------------------------------------------------------------------

    def _add_target(self, connection: Connection, info: RouteInfo) -> None:
        """Make the server of an accepted connection a target of ours, as if by gossip."""
        try:
            url = parse_route_url(route_url(info))
        except ValueError:
            return
        connection.targets = [
            self._dialer.add(
                self._with_login(url, info), is_explicit=False, remote_id=info.server_id
            )
        ]

    def _reconnect(self, target: Target) -> Sequence[MeshEffect]:
        if target.remote_id == self._local.server_id:
            self._dialer.take(target.token)
            detected = 'Detected route to self, ignoring "{url}"'
            return [Noted(Level.DEBUG, detected, {"url": target.url})]
        if self._is_connected(target):
            self._dialer.take(target.token)
            return self._yield_to_route(target)
        return self._dialer.redial(target)

    def _is_connected(self, target: Target) -> bool:
        return bool(target.remote_id) and Slot(target.remote_id) in self._routes

    def _yield_to_route(self, target: Target) -> Sequence[MeshEffect]:
        """Leave a target to the route that its server has already."""
        route = self._routes[Slot(target.remote_id)]
        route.is_solicited = True
        self._attach(route, target)
        connected = (
            'Not attempting reconnect for solicited route, already connected to "{remote_id}"'
        )
        return [Noted(Level.DEBUG, connected, {"remote_id": target.remote_id})]

    # -- clients ----------------------------------------------------------------------------------

    def _announce(self) -> Sequence[MeshEffect]:
        """Tell clients where the servers are, if that has changed: this one first."""
        if self._is_stopping or not self._settings.is_advertised:
            return []
        urls = dict.fromkeys(self._local.connect_urls)
        for route in self._routes.values():
            urls |= dict.fromkeys(route.connect_urls)
        if tuple(urls) == self._client_urls:
            return []
        self._client_urls = tuple(urls)
        return [ClientUrlsChanged(self._client_urls)]


def _rejected(
    link: LinkId, level: Level, reason: ClosedState, event: str, fields: Mapping[str, str]
) -> Sequence[MeshEffect]:
    """Close a connection and say why, in the log and to the peer."""
    words = event.format(**fields)
    return [NotedOf(link, level, event, fields), Dismiss(link, reason, words)]


def _closed(connection: Connection, reason: ClosedState) -> MeshEffect:
    event, fields = "Router connection closed: {reason}", {"reason": reason.text}
    if connection.info is not None and connection.info.server_name:
        event += " - Remote: {name}"
        fields["name"] = connection.info.server_name
    return NotedOf(connection.link, Level.INFO, event, fields)
