"""Leaf nodes and hubs of a server, as a machine without I/O: who is dialed, connected, refused.

Each remote is one connection to one hub, for one account. A hub that can't be reached, or that ends
the connection, is dialed again for ever; where it, or this server, has found something that does
not go by itself (a loop, an old version), after a longer wait.

Source: nats-server `leafnode.go`, `solicitLeafNodeRemotes`, `connectToRemoteLeafNode`,
`addLeafNodeConnection`, `updateLeafNodeURLs`; `client.go`, `registerWithAccount`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from framework.peering import Dismiss, Level, LocalChanged, Noted, NotedOf, Tell, Wait
from framework.wire.closed_state import ClosedState
from framework.wire.document import build_document
from framework.wire.info import info_line
from framework_leafnode.effect import Admit, Dial, Lead
from framework_leafnode.limits import (
    CONNECT_ERROR_REPORTS,
    HANDSHAKES_MAX,
    LOOP_DELAY_S,
    RECONNECT_ERROR_REPORTS,
    URLS_MAX,
)
from framework_leafnode.peer import Remote, Urls
from framework_leafnode.url import is_websocket, parse_hub_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from framework.peering import PeerUrl
    from framework.spec import LinkId
    from framework_leafnode.effect import LeafsEffect
    from framework_leafnode.info import LeafInfo
    from framework_leafnode.peer import Connection, Peer
    from framework_leafnode.settings import LeafSettings, RemoteSettings


class Leafs:
    """Keep this server connected to its hubs, and its leaf nodes apart.

    Args:
        local: How this server introduces itself.
        settings: See there.
        tokens: Numbers that nobody has had yet, so that no late answer is taken for another.
        room: Returns how many leaf nodes an account may have; None: any number.
    """

    def __init__(
        self,
        *,
        local: LeafInfo,
        settings: LeafSettings,
        tokens: Iterator[int],
        room: Callable[[str], int | None] = lambda _: None,
    ) -> None:
        self._local = local
        self._settings = settings
        self._tokens = tokens
        self._room = room
        self._remotes = [Remote(it, list(it.urls)) for it in settings.remotes]
        self._connections: dict[LinkId, Connection] = {}
        self._neighbours = Urls()
        """Where other servers of this cluster accept leaf nodes."""
        self._own_websocket = local.ws_connect_urls
        self._is_stopping = False

    # -- what may be asked ------------------------------------------------------------------------

    @property
    def local(self) -> LeafInfo:
        """Return how this server introduces itself."""
        return self._local

    @property
    def settings(self) -> LeafSettings:
        """Return the settings in force."""
        return self._settings

    @property
    def remotes(self) -> Sequence[Remote]:
        """Return the hubs that are configured."""
        return self._remotes

    @property
    def connections(self) -> Mapping[LinkId, Connection]:
        """Return all connections, also those that are not registered yet."""
        return self._connections

    def registered(self) -> Iterator[Connection]:
        """Yield the connections that are registered."""
        return (it for it in self._connections.values() if it.peer is not None)

    # -- life of the server -----------------------------------------------------------------------

    def start(self) -> Sequence[LeafsEffect]:
        """Dial the hubs that are configured."""
        return [it for remote in self._remotes for it in self._dial(remote)]

    def stop(self) -> None:
        """Miss no connection that ends from now on."""
        self._is_stopping = True

    def receive_reload(self, settings: LeafSettings, local: LeafInfo) -> Sequence[LeafsEffect]:
        """Follow other settings; a connection whose remote has changed is made anew.

        Source: nats-server `reload.go`, `leafNodeOption`.
        """
        is_recompressed = settings.compression != self._settings.compression
        self._settings = settings
        known = {it.settings.key: it for it in self._remotes}
        self._remotes = []
        ended: list[Remote] = []
        for its in settings.remotes:
            remote = known.pop(its.key, None) or Remote(its, list(its.urls))
            if remote.settings != its:
                remote.settings = its
                ended.append(remote)
            self._remotes.append(remote)
        for remote in (*known.values(), *(it for it in ended if it.settings.is_disabled)):
            remote.token = 0  # what is under way is not wanted any more
        self._own_websocket = local.ws_connect_urls
        effects: list[LeafsEffect] = [*self._change_local(local)]
        links = (it.link for it in (*known.values(), *ended))
        effects += (Dismiss(link, ClosedState.ROUTE_REMOVED) for link in links if link is not None)
        accepted = (it.link for it in self._connections.values() if it.remote is None)
        # They agree on it by new connections.
        effects += (Dismiss(it, ClosedState.CLIENT_CLOSED) for it in accepted if is_recompressed)
        return [*effects, *(it for remote in self._remotes for it in self._dial(remote))]

    def receive_neighbours(self, urls: Urls) -> Sequence[LeafsEffect]:
        """Take where other servers of this cluster accept leaf nodes."""
        self._neighbours = urls
        return self._change_local(self._local)

    def _change_local(self, local: LeafInfo) -> Sequence[LeafsEffect]:
        """Introduce this server in another way, and tell all who have connected to it."""
        own = (local.ip,) if local.ip else ()
        others = self._neighbours
        changed = replace(
            local,
            leafnode_urls=tuple(dict.fromkeys((*own, *others.plain)))[:URLS_MAX],
            ws_connect_urls=tuple(dict.fromkeys((*self._own_websocket, *others.websocket)))[
                :URLS_MAX
            ],
        )
        if changed == self._local:
            return []
        self._local = changed
        line = info_line(build_document(changed))
        leafs = [it for it in self.registered() if it.remote is None]
        return [LocalChanged(changed), *(Tell(it.link, line) for it in leafs)]

    # -- dialing ----------------------------------------------------------------------------------

    def _dial(self, remote: Remote) -> Sequence[LeafsEffect]:
        """Try the next URL of a hub, unless it is connected or being dialed."""
        settings = remote.settings
        if self._is_stopping or settings.is_disabled or remote.link is not None or remote.token:
            return []
        remote.token = next(self._tokens)
        if remote.delay_s:
            delay_s, remote.delay_s = remote.delay_s, 0.0
            return [Wait(remote.token, delay_s)]
        url = remote.urls.pop(0)
        remote.urls.append(url)
        trying = 'Trying to connect as leafnode to remote server on "{address}"'
        noted = Noted(Level.DEBUG, trying, {"address": url.address})
        return [noted, Dial(remote.token, _with_login(url, settings), settings)]

    def _by_token(self, token: int) -> Remote | None:
        return next((it for it in self._remotes if it.token == token), None) if token else None

    def receive_timer(self, token: int) -> Sequence[LeafsEffect]:
        """Take that the time of a `Wait` has passed."""
        remote = self._by_token(token)
        if remote is None:
            return []
        remote.token = 0
        return self._dial(remote)

    def receive_dial_failed(self, token: int, error: str) -> Sequence[LeafsEffect]:
        """Take that the hub does not answer at the URL.

        Args:
            token: Of the `Dial`.
            error: For the log.
        """
        remote = self._by_token(token)
        if remote is None:
            return []
        remote.attempts += 1
        every = RECONNECT_ERROR_REPORTS if remote.was_connected else CONNECT_ERROR_REPORTS
        is_reported = remote.attempts == 1 or remote.attempts % every == 0
        failed = (
            'Error trying to connect as leafnode to remote server "{address}"'
            " (attempt {count}): {error}"
        )
        fields = {
            "address": remote.urls[-1].address,
            "count": remote.attempts,
            "error": error,
        }
        remote.token = next(self._tokens)
        pause_s = self._settings.reconnect_s
        return [
            Noted(Level.ERROR if is_reported else Level.DEBUG, failed, fields),
            Wait(remote.token, pause_s, pause_s),
        ]

    # -- life of a connection ---------------------------------------------------------------------

    def receive_opened(self, connection: Connection, token: int) -> Sequence[LeafsEffect]:
        """Take a new connection: one that we dialed, or one that was accepted.

        Args:
            connection: With the URL that was reached, if it was dialed.
            token: Of the `Dial`; 0: it was accepted.
        """
        link = connection.link
        if connection.url is None:
            pending = sum(it.remote is None and not it.peer for it in self._connections.values())
            if pending >= HANDSHAKES_MAX:
                return [Dismiss(link, ClosedState.MAX_CONNECTIONS_EXCEEDED)]
        else:
            connection.remote = self._by_token(token)
            if connection.remote is None:
                return [Dismiss(link, ClosedState.CLIENT_CLOSED)]
            connection.remote.token, connection.remote.link = 0, link
        self._connections[link] = connection
        return [Lead(link)]

    def receive_introduction(self, link: LinkId, peer: Peer) -> Sequence[LeafsEffect]:
        """Decide whether a peer is registered.

        Args:
            link: Its connection.
            peer: Who it is, and what was agreed on.
        """
        connection = self._connections.get(link)
        if connection is None:
            return []
        refusal = self._refuse(connection, peer)
        if refusal is not None:
            return refusal
        connection.peer = peer
        local = connection.remote.settings.is_isolated if connection.remote else False
        connection.is_isolated = self._settings.is_isolated or local or peer.wants_isolation
        if connection.remote is not None:
            connection.remote.attempts = 0
            connection.remote.was_connected = True
        same = self._same(connection, peer)
        if same is None:
            return [Admit(link)]
        # Not before that has ended: it would be told of this one's interest, as of a loop.
        same.successor = link
        reason = ClosedState.DUPLICATE_REMOTE_LEAFNODE_CONNECTION
        return [
            NotedOf(link, Level.WARNING, "Replacing connection from same server"),
            Dismiss(same.link, reason, reason.text),
        ]

    def _refuse(self, connection: Connection, peer: Peer) -> Sequence[LeafsEffect] | None:
        """Say no to a hub that is a leaf node here as well, or where an account has no room."""
        if connection.remote is not None and peer.cluster and self._has_leaf_of(peer):
            connection.remote.delay_s = LOOP_DELAY_S
            words = loop_words(peer.account)
            return [
                NotedOf(connection.link, Level.ERROR, "{detail}", {"detail": words}),
                Dismiss(connection.link, ClosedState.PROTOCOL_VIOLATION, words),
            ]
        room = self._room(peer.account)
        if room is not None and room <= sum(
            it.peer is not None and it.peer.account == peer.account for it in self.registered()
        ):
            words = "maximum account active connections exceeded"
            full = ClosedState.MAX_ACCOUNT_CONNECTIONS_EXCEEDED
            return [Dismiss(connection.link, full, words)]
        return None

    def _has_leaf_of(self, hub: Peer) -> bool:
        """Tell whether a server of a hub's cluster is a leaf node of the same account here."""
        return any(
            it.peer is not None
            and not it.peer.is_hub
            and it.peer.cluster == hub.cluster
            and it.peer.account == hub.account
            for it in self.registered()
        )

    def _same(self, connection: Connection, peer: Peer) -> Connection | None:
        """Return the connection that a leaf node has already: it may have lost it without us."""
        if connection.remote is not None or not peer.name or not peer.remote_account:
            return None
        others = (it for it in self.registered() if it is not connection and it.remote is None)
        return next((it for it in others if not it.successor and _is_same(it.peer, peer)), None)

    def receive_update(self, link: LinkId, info: LeafInfo) -> Sequence[LeafsEffect]:
        """Take what a hub says of its cluster: where else it may be reached."""
        connection = self._connections.get(link)
        remote = connection.remote if connection is not None else None
        if remote is None or remote.settings.ignores_discovered:
            return []
        told = info.leafnode_urls
        first = remote.settings.urls[0]
        if is_websocket(first):
            told = tuple(f"{first.scheme}://{it}" for it in info.ws_connect_urls)
        if not told:
            return []
        configured = {url.address for url in remote.settings.urls}
        learned = [url for url in _parsed(told) if url.address not in configured]
        assert connection is not None
        used = connection.url.address if connection.url else ""
        urls = [*learned, *remote.settings.urls]
        # The one in use has had its turn.
        remote.urls = sorted(urls, key=lambda url: url.address == used)
        return []

    def receive_compressed(self, link: LinkId, shown: str) -> Sequence[LeafsEffect]:
        """Take that a connection is compressed in another way now."""
        connection = self._connections.get(link)
        if connection is not None and connection.peer is not None:
            connection.peer = replace(connection.peer, compression=shown)
        return []

    def receive_delay(self, link: LinkId, delay_s: float) -> Sequence[LeafsEffect]:
        """Wait before the hub of a connection is dialed again."""
        connection = self._connections.get(link)
        if connection is not None and connection.remote is not None:
            connection.remote.delay_s = max(connection.remote.delay_s, delay_s)
        return []

    def receive_closed(
        self, link: LinkId, reason: ClosedState, detail: str = ""
    ) -> Sequence[LeafsEffect]:
        """Take that a connection has ended, and dial its hub again.

        Args:
            link: Its link.
            reason: Why.
            detail: What the plane says besides.
        """
        connection = self._connections.pop(link, None)
        if connection is None:
            return []
        effects: list[LeafsEffect] = []
        if connection.peer is not None:
            event = "Leafnode connection closed: {reason} - Remote: {name}"
            fields = {"reason": reason.text, "name": connection.peer.name}
            effects.append(NotedOf(link, Level.INFO, event, fields))
        if connection.successor in self._connections:
            effects.append(Admit(connection.successor))
        return [*effects, *self._redial(connection, detail)]

    def _redial(self, connection: Connection, detail: str) -> Sequence[LeafsEffect]:
        """Wait, and dial the hub of a connection that has ended."""
        remote = connection.remote
        if remote is None or remote.link != connection.link:
            return []
        remote.link = None
        if connection.peer is not None and detail == loop_words(connection.peer.account):
            remote.delay_s = max(remote.delay_s, LOOP_DELAY_S)
        is_wanted = any(it is remote for it in self._remotes) and not remote.settings.is_disabled
        if self._is_stopping or not is_wanted or remote.token:
            return []
        remote.token = next(self._tokens)
        return [Wait(remote.token, self._settings.reconnect_s)]


def loop_words(account: str) -> str:
    """Return what a peer is told whose connection leads back here.

    Source: nats-server `leafnode.go`, `handleLeafNodeLoop`.
    """
    return (
        f'Loop detected for leafnode account="{account}".'
        f" Delaying attempt to reconnect for {LOOP_DELAY_S:g}s"
    )


def _is_same(one: Peer | None, other: Peer) -> bool:
    return one is not None and (
        (one.name, one.cluster, one.account, one.remote_account)
        == (other.name, other.cluster, other.account, other.remote_account)
    )


def _with_login(url: PeerUrl, settings: RemoteSettings) -> PeerUrl:
    """Return a URL with the login of another one of the hub, where it has none itself."""
    if url.user:
        return url
    known = next((it for it in settings.urls if it.user), None)
    return replace(url, user=known.user, password=known.password) if known else url


def _parsed(urls: Sequence[str]) -> list[PeerUrl]:
    """Return those URLs that are any, each once."""
    parsed: dict[str, PeerUrl] = {}
    for text in urls[:URLS_MAX]:
        try:
            url = parse_hub_url(text)
        except ValueError:
            continue
        parsed[url.address] = url
    return list(parsed.values())
