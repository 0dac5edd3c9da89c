"""The mesh: routes of one server to all others of its cluster, as a machine without I/O.

Every server is to have every place at every other one taken by exactly one connection, although
both may dial at the same time, names may clash, and anybody may come, go, or come back as somebody
else. The first connection to a server tells what it is; once that server has answered on it, who
dialed it dials the others: the rest of the pool, and one for each pinned account.

Source: nats-server `route.go`, `addRoute`, `handleDuplicateRoute`, `processImplicitRoute`,
`forwardNewRouteInfoToKnownServers`, `removeRoute`; `client.go`, `reconnect`; `reload.go`,
`reloadClusterPoolAndAccounts`.

Size: who is admitted, and what follows when somebody goes, is one state; what can be decided from
a part of it stands in `admission`, `pinning`, `seeker` and `gossip`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from framework.peering import (
    AcceptClaim,
    Dismiss,
    Level,
    LocalChanged,
    Noted,
    NotedOf,
    Tell,
    Wait,
    join_host_port,
)
from framework.wire.closed_state import ClosedState
from framework.wire.document import build_document
from framework.wire.info import info_line
from framework_route.admission import (
    NOT_WANTED,
    TOO_MANY,
    Refusal,
    Rules,
    find_place,
    gives_way,
)
from framework_route.cluster_name import agree_on_cluster
from framework_route.dialer import Dialer
from framework_route.effect import (
    Admit,
    ClientUrlsChanged,
    ClusterNameChanged,
    Greet,
    Overheard,
    PoolSlot,
    RepeatInterest,
)
from framework_route.gossip import spread
from framework_route.limits import (
    HANDSHAKES_MAX,
    PEER_CONNECTIONS_MAX,
    REPEAT_INTERVAL_S,
    SETTLED_S,
)
from framework_route.peer import Connection
from framework_route.pinning import Pinning
from framework_route.pins import Pins
from framework_route.registry import Registry
from framework_route.seeker import Seeker
from framework_route.status import MeshStatus
from framework_route.told_fields import ToldFields

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping, Sequence

    from framework.peering import PeerUrl
    from framework.spec import LinkId
    from framework.wire.info import RouteInfo
    from framework_route.admission import Place
    from framework_route.effect import MeshEffect
    from framework_route.peer import Peer
    from framework_route.settings import MeshSettings

_OTHER_CLUSTER = 'Rejecting connection, cluster name "{theirs}" does not match "{ours}"'
_POOL_REACHED = 'Route pool size reached, closing extra connection to "{remote_id}"'


class Mesh:
    """Keep a full mesh: told what happened, it returns effects.

    Args:
        local: How this server introduces itself; `connect_urls` empty when not advertised.
        settings: See there.
        accounts: The names of those that are known here, at the moment of asking.
        tokens: Numbers that nobody has had yet, so that no late answer is taken for another.
        check: Returns what plugins have against a server; empty: nothing.
        told: What plugins have heard of other servers before; None: nothing.
    """

    def __init__(
        self,
        *,
        local: RouteInfo,
        settings: MeshSettings,
        accounts: Container[str],
        tokens: Iterator[int],
        told: ToldFields | None = None,
        check: Callable[[RouteInfo], str] = lambda _: "",
    ) -> None:
        self._local = local
        self._settings = settings
        self._accounts = accounts
        self._check = check
        self._dialer = Dialer(
            retries=settings.connect_retries,
            has_backoff=settings.has_connect_backoff,
            tokens=tokens,
        )
        self._registry = Registry()
        self._pins = Pins(accounts)
        self._settling: dict[int, LinkId] = {}
        self._counted = 0
        self._seeker = Seeker(
            own_id=local.server_id,
            settings=settings,
            dialer=self._dialer,
            registry=self._registry,
            pins=self._pins,
        )
        self._pinning = Pinning(
            pins=self._pins,
            registry=self._registry,
            dialer=self._dialer,
            seeker=self._seeker,
        )
        self._client_urls = local.connect_urls
        self._told = told or ToldFields()
        self._is_stopping = False

    # -- what may be asked ------------------------------------------------------------------------

    @property
    def local(self) -> RouteInfo:
        """Return how this server introduces itself at the moment."""
        return self._local

    @property
    def routes(self) -> Sequence[Connection]:
        """Return the connections that are routes, peer by peer in order of registration."""
        return self._registry.routes

    @property
    def status(self) -> MeshStatus:
        """Return what there is and what is missing."""
        sought = (t for t in self._dialer.targets if t.slot is None)
        return MeshStatus(
            local=self._local,
            peers=self._registry.peers,
            accounts=self._pins.wanted(),
            sought=tuple(dict.fromkeys(t.url.address for t in sought)),
        )

    def find(self, link: LinkId) -> Connection | None:
        """Return a connection, a route or not yet; None when it is gone."""
        return self._registry.get(link)

    # -- what happens -----------------------------------------------------------------------------

    def start(self, accounts: tuple[str, ...]) -> Sequence[MeshEffect]:
        """Dial every configured server; these accounts have connections of their own."""
        pinned = self._pinning.start(accounts)
        return [*pinned, *self._seeker.dial_configured(self._settings.routes)]

    def begin_lame_duck(self) -> Sequence[MeshEffect]:
        """Enter lame duck mode: no server names this one in `connect_urls` any more.

        Source: nats-server `server.go`, `sendLDMToRoutes`, `sendLDMToClients`.
        """
        self._local = replace(self._local, ldm=True, connect_urls=())
        line = info_line(build_document(self._local))
        return [
            LocalChanged(self._local),
            *(Tell(peer.main.link, line) for peer in self._registry.peers),
            *self._announce(),
        ]

    def stop(self) -> None:
        """Dial and accept no routes from now on; clients keep their `connect_urls`."""
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
            self._registry.add(connection)
            return [Greet(link, self._local, None)]
        target = self._dialer.take(token)
        if target is None:
            return [Dismiss(link, ClosedState.ROUTE_REMOVED)]
        target.dial_failures = 0
        target.was_reached = True
        target.reached_at = host
        connection.is_dialed = connection.is_solicited = True
        connection.targets = [target]
        self._registry.add(connection)
        account = target.slot.account if target.slot else ""
        return [Greet(link, self._local, target.url, account)]

    def receive_claim(
        self, link: LinkId, remote_id: str, cluster: str, *, is_dynamic: bool
    ) -> Sequence[MeshEffect]:
        """Check the cluster name in the CONNECT of a server that dialed us."""
        connection = self._registry.get(link)
        if connection is None:
            return []
        connection.remote_id = remote_id
        settled = self._settle_cluster(remote_id, cluster, is_dynamic=is_dynamic)
        if settled is None:
            return self._reject_cluster(link, cluster)
        return [*settled, AcceptClaim(link)]

    def receive_introduction(self, link: LinkId, info: RouteInfo) -> Sequence[MeshEffect]:
        """Decide whether a connection becomes a route, by its INFO."""
        connection = self._registry.get(link)
        if connection is None:
            return []
        connection.remote_id = info.server_id
        if info.server_id == self._local.server_id:
            return [Dismiss(link, ClosedState.DUPLICATE_ROUTE)]
        for target in connection.targets:
            target.remote_id = info.server_id
        settled: Sequence[MeshEffect] | None = []
        if info.cluster:
            settled = self._settle_cluster(
                info.server_id, info.cluster, is_dynamic=info.cluster_dynamic
            )
        if settled is None:
            return self._reject_cluster(link, info.cluster)
        return [*settled, *self._take_pool_slot(connection, info)]

    def receive_answer(self, link: LinkId) -> Sequence[MeshEffect]:
        """Take that a peer has answered on a route: it has it as one as well.

        Who dialed the first connection to a server now dials the others.
        """
        connection = self._registry.get(link)
        if connection is None or connection.slot is None or connection.is_confirmed:
            return []
        connection.is_confirmed = True
        if not connection.slot.is_first:
            return []
        if connection.is_dialed:
            return self._seeker.complete(connection)
        return self._pinning.await_dials(connection)

    def tell_all(self, line: bytes) -> Sequence[MeshEffect]:
        """Say a line to every server, on one of its routes."""
        return [Tell(peer.main.link, line) for peer in self._registry.peers]

    def receive_update(self, link: LinkId, info: RouteInfo) -> Sequence[MeshEffect]:
        """Take what a route says later: of another server, or that it will stop soon."""
        connection = self._registry.get(link)
        if connection is None or connection.slot is None:
            return []
        if info.gateway:
            peer = self._registry.peer(connection.remote_id)
            return [Overheard(peer.info, info)] if peer is not None else []
        if info.route_acc_add_reqid:
            return [] if self._is_stopping else self._pinning.receive_update(connection, info)
        if info.server_id != connection.remote_id:
            return self._seeker.learn(info)
        return self._take_news(connection, info)

    def _take_news(self, connection: Connection, info: RouteInfo) -> Sequence[MeshEffect]:
        """Take what has changed at the server of a route."""
        peer = self._registry.peer(connection.remote_id)
        assert peer is not None
        effects: list[MeshEffect] = list(self._told.learn(info))
        if info.export != peer.info.export or info.import_ != peer.info.import_:
            peer.info = replace(peer.info, import_=info.import_, export=info.export)
            for each in peer.connections.values():
                each.info = each.info and replace(
                    each.info, import_=info.import_, export=info.export
                )
            effects += self._repeat(peer)
        if info.ldm:
            peer.connect_urls = ()
            effects += self._announce()
        if not info.cluster:
            return effects
        settled = self._settle_cluster(
            info.server_id, info.cluster, is_dynamic=info.cluster_dynamic
        )
        if settled is None:
            settled = self._reject_cluster(connection.link, info.cluster)
        return [*effects, *settled]

    def _repeat(self, peer: Peer) -> Sequence[MeshEffect]:
        """Tell a peer all interest once more, but not whenever it likes."""
        if peer.repeating:
            peer.is_repeat_due = True
            return []
        peer.repeating = self._dialer.next_token()
        repeated = [RepeatInterest(each.link) for each in peer.connections.values()]
        return [*repeated, Wait(peer.repeating, REPEAT_INTERVAL_S)]

    def _repeat_later(self, peer: Peer) -> Sequence[MeshEffect]:
        """Tell a peer all interest once more when an account has left a connection of its own.

        What we said by the others before the peer knew of that connection, it has forgotten since,
        if the account came back to them that soon; and it cannot ask.
        """
        peer.is_repeat_due = True
        if peer.repeating:
            return []
        peer.repeating = self._dialer.next_token()
        return [Wait(peer.repeating, REPEAT_INTERVAL_S)]

    def _receive_repeated(self, peer: Peer) -> Sequence[MeshEffect]:
        """Go on after the pause that follows each repetition."""
        is_due, peer.repeating, peer.is_repeat_due = peer.is_repeat_due, 0, False
        return self._repeat(peer) if is_due else []

    def receive_closed(self, link: LinkId, reason: ClosedState) -> Sequence[MeshEffect]:
        """Free the place of a connection, and dial its server again if that is up to us."""
        connection = self._registry.pop(link)
        if connection is None:
            return []
        self._uncount(connection)
        if reason is ClosedState.PARSE_ERROR:  # as a peer that lets go of an account says no
            self._pins.forget(connection)
        slot = connection.slot
        effects = [_closed(connection, reason), *self._release(connection)]
        if self._is_stopping:
            return effects
        if slot is not None and slot.account and not connection.targets:
            effects += self._seeker.keep_pinned(slot)
        peer = self._registry.peer(connection.remote_id) if slot is not None else None
        if slot is not None and slot.account and peer is not None and peer.connections:
            effects += self._repeat_later(peer)
        if connection.is_retried and not connection.targets and connection.info is not None:
            self._seeker.add_target(connection)
        for target in connection.targets:
            effects += self._seeker.reconnect(target, connection)
        return effects

    def receive_dial_failed(
        self, token: int, error: str, *, is_none_left: bool = False
    ) -> Sequence[MeshEffect]:
        """Count a server that could not be reached; its host may have no address but our own."""
        return self._dialer.fail(token, error, is_none_left=is_none_left)

    def receive_timer(self, token: int) -> Sequence[MeshEffect]:
        """Do what was put off by `Wait`."""
        link = self._settling.pop(token, None)
        connection = self._registry.get(link) if link is not None else None
        if connection is not None:
            for target in connection.targets:
                target.refusals = target.lost_attempts = 0
        if self._is_stopping:
            return []
        pinned = self._pinning.receive_timer(token)
        if pinned is not None:
            return pinned
        for peer in self._registry.peers:
            if peer.repeating == token:
                return self._receive_repeated(peer)
        due = self._dialer.find(token)
        return [] if due is None else self._seeker.dial_due(due)

    def receive_fields(self, fields: Mapping[str, object]) -> Sequence[MeshEffect]:
        """Tell other servers what plugins have in INFO from now on."""
        self._local = replace(self._local, others=fields)
        return [LocalChanged(self._local), *self._tell_routes()]

    def _tell_routes(self) -> Sequence[MeshEffect]:
        line = info_line(build_document(self._local))
        return [Tell(route.link, line) for route in self._registry.routes]

    def receive_reload(
        self, settings: MeshSettings, local: RouteInfo, pinned: tuple[str, ...]
    ) -> Sequence[MeshEffect]:
        """Follow another configuration; connections that it does not concern stay.

        Args:
            settings: In force from now on.
            pinned: Accounts with connections of their own from now on.
            local: How this server introduces itself; name and cluster are those of before.
        """
        before, self._settings = self._settings, settings
        told, self._local = self._local, local
        self._seeker.configure(settings)
        effects: list[MeshEffect] = [LocalChanged(local)]
        if (told.import_, told.export) != (local.import_, local.export):
            effects += self._tell_routes()
        effects += self._drop_routes([url for url in before.routes if url not in settings.routes])
        if settings.pool_size != before.pool_size:
            effects += self._renew([c for peer in self._registry.peers for c in peer.pool()])
        moved, removed = self._pinning.follow(pinned)
        effects += [*moved, *self._close(removed)]
        self._seeker.forget_idle()
        effects += self._seeker.dial_configured([
            url for url in settings.routes if url not in before.routes
        ])
        return [*effects, *self._announce()]

    def receive_accounts_changed(self) -> Sequence[MeshEffect]:
        """Dial for the pinned accounts that are known only now."""
        return [] if self._is_stopping else self._pinning.receive_known()

    def renew(self, links: Sequence[LinkId]) -> Sequence[MeshEffect]:
        """Close routes and dial them again at once: what they agreed on is no longer wanted."""
        found = [self._registry.get(link) for link in links]
        return self._renew([connection for connection in found if connection is not None])

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
        for other in [c for c in self._registry.routes if c.remote_id != remote_id]:
            effects.append(Dismiss(other.link, ClosedState.CLUSTER_NAME_CONFLICT))
            effects += self._release(other)
        return effects

    def _reject_cluster(self, link: LinkId, theirs: str) -> Sequence[MeshEffect]:
        fields = {"theirs": theirs, "ours": self._local.cluster}
        return [
            NotedOf(link, Level.ERROR, _OTHER_CLUSTER, fields),
            Dismiss(link, ClosedState.CLUSTER_NAME_CONFLICT, _OTHER_CLUSTER.format(**fields)),
        ]

    # -- admission --------------------------------------------------------------------------------

    def _take_pool_slot(self, connection: Connection, info: RouteInfo) -> Sequence[MeshEffect]:
        """Give a connection its place, or say why it gets none."""
        rules = Rules(
            server_name=self._local.server_name,
            pool_size=self._settings.pool_size,
            is_strict=self._settings.is_pool_strict,
            accounts=self._accounts,
            check=self._check,
        )
        place = find_place(connection, info, rules)
        if isinstance(place, Refusal):
            account = info.route_account
            sought = self._pins.seek_unknown(account) if account else ()
            return [*self._refuse(connection, place), *sought]
        if connection.is_dialed and place.slot.account and not self._pins.is_wanted(place.slot):
            return self._refuse(connection, NOT_WANTED)
        known = self._registry.peer(place.slot.remote_id)
        if known is not None and len(known.connections) >= PEER_CONNECTIONS_MAX:
            return self._refuse(connection, TOO_MANY)
        existing = self._registry.holder(place.slot)
        if existing is None:
            return self._register(connection, info, place)
        if not gives_way(existing, connection, info, self._local.server_id):
            self._merge(existing, connection)
            return _duplicate(connection, info.server_id)
        self._merge(connection, existing)
        self._registry.release(existing)
        dropped = _duplicate(existing, info.server_id)
        return [*dropped, *self._register(connection, info, place)]

    def _refuse(self, connection: Connection, refusal: Refusal) -> Sequence[MeshEffect]:
        if refusal.is_final:
            connection.targets = []
        link = connection.link
        noted = NotedOf(link, refusal.level, "{detail}", {"detail": refusal.text})
        return [noted, Dismiss(link, refusal.reason, refusal.text)]

    def _merge(self, kept: Connection, dropped: Connection) -> None:
        """Let the connection that stays inherit what the other one was for.

        Both servers may have kept the connection that the other one drops; then none is left, which
        is why the loss of the kept one is repaired from here too, whoever dialed it.
        """
        kept.is_retried = kept.slot is None or kept.slot.is_first
        kept.is_solicited = kept.is_solicited or dropped.is_solicited
        for target in dropped.targets:
            self._seeker.attach(kept, target)
        dropped.targets = []

    def _register(
        self, connection: Connection, info: RouteInfo, place: Place
    ) -> Sequence[MeshEffect]:
        if not info.ip:
            address = join_host_port(connection.host, info.port)
            info = replace(info, ip=f"nats-route://{address}/")
        self._uncount(connection)
        slot = place.slot
        effects: list[MeshEffect] = []
        known = self._registry.peer(slot.remote_id)
        if known is not None and not slot.account and known.terms != place.terms:
            # It has been reloaded: what it still has by the old terms, it is about to close.
            effects += self._renew(tuple(known.pool()))
        others, info = info, replace(info, others={})
        peer = self._registry.take(connection, slot, info, place.terms)
        effects += self._told.learn(others)
        if not slot.account:
            peer.info, peer.terms = info, place.terms
        if len(peer.connections) == 1:
            peer.connect_urls = info.connect_urls
        pool_slot = PoolSlot(peer.number, slot.pool_index, peer.terms.assigned_size, slot.account)
        effects.append(Admit(connection.link, pool_slot, self._local))
        if not peer.terms.size:
            effects += self._pinning.note_unserved(connection)
        if slot.account or len(tuple(peer.pool())) == 1:
            effects += spread(self._registry.peers, connection, info)
        token = self._dialer.next_token()
        self._settling[token] = connection.link
        return [*effects, *self._announce(), Wait(token, SETTLED_S)]

    def _uncount(self, connection: Connection) -> None:
        """End the handshake of an accepted connection, whichever way it ended."""
        self._counted -= connection.is_counted
        connection.is_counted = False

    def _release(self, connection: Connection) -> Sequence[MeshEffect]:
        """Free the place of a connection that ends."""
        return self._announce() if self._release_quietly(connection) else []

    def _release_quietly(self, connection: Connection) -> bool:
        """Free a place that is soon to be taken again; False: there was none."""
        peer = self._registry.release(connection)
        if peer is not None and not peer.connections:
            self._pins.forget_peer(connection.remote_id)
            self._seeker.forget_idle()  # else they would be waited for when it is back
        return peer is not None

    def _drop_routes(self, urls: Sequence[PeerUrl]) -> list[MeshEffect]:
        """Close the routes that these URLs led to, and dial them no more."""
        self._seeker.forget_configured(urls)
        idle = []
        for connection in self._registry.connections:
            kept = [t for t in connection.targets if not (t.is_explicit and t.url in urls)]
            if connection.targets and not kept:
                idle.append(connection)
            connection.targets = kept
        removed = [Noted(Level.INFO, "Removed route {url}", {"url": url}) for url in urls]
        return [*self._close(idle), *removed]

    def _close(self, connections: Sequence[Connection]) -> list[MeshEffect]:
        """Close routes that are not wanted any more."""
        effects: list[MeshEffect] = []
        for connection in connections:
            connection.targets = []
            effects.append(Dismiss(connection.link, ClosedState.ROUTE_REMOVED))
            effects += self._release(connection)
        return effects

    def _renew(self, connections: Sequence[Connection]) -> list[MeshEffect]:
        """Close routes, so that others take their places by the terms in force."""
        effects: list[MeshEffect] = []
        for connection in connections:
            connection.is_hurried = True
            effects.append(Dismiss(connection.link, ClosedState.ROUTE_REMOVED))
            self._release_quietly(connection)
        return effects

    # -- clients ----------------------------------------------------------------------------------

    def _announce(self) -> Sequence[MeshEffect]:
        """Tell clients where the servers are, if that has changed: this one first.

        Plugins hear which servers are gone that have told them something.
        """
        if self._is_stopping:
            return []
        urls, peers = dict.fromkeys(self._local.connect_urls), self._registry.peers
        if self._settings.is_advertised:
            for peer in peers:
                urls |= dict.fromkeys(peer.connect_urls)
        gone = self._told.forget_all_but({peer.info.server_id for peer in peers})
        if tuple(urls) == self._client_urls:
            return gone
        self._client_urls = tuple(urls)
        return [*gone, ClientUrlsChanged(self._client_urls)]


def _duplicate(connection: Connection, remote_id: str) -> Sequence[MeshEffect]:
    """Close a connection whose place another one has."""
    target = connection.targets[0] if connection.targets else None
    is_extra = target is not None and target.slot is not None
    event = _POOL_REACHED if is_extra else 'Detected duplicate remote route "{remote_id}"'
    return [
        NotedOf(connection.link, Level.DEBUG, event, {"remote_id": remote_id}),
        Dismiss(connection.link, ClosedState.DUPLICATE_ROUTE),
    ]


def _closed(connection: Connection, reason: ClosedState) -> MeshEffect:
    event, fields = "Router connection closed: {reason}", {"reason": reason.text}
    if connection.info is not None and connection.info.server_name:
        event += " - Remote: {name}"
        fields["name"] = connection.info.server_name
    return NotedOf(connection.link, Level.INFO, event, fields)
