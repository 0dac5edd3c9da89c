"""The mesh of clusters, as a machine without I/O: who is known, dialed, connected.

Each server has one outbound connection to each other cluster, to any of its servers, and as many
inbound ones as servers of others have chosen it. A cluster that connects, or that somebody tells
of, is dialed as those that are configured, as long as it can be reached.

Source: nats-server `gateway.go`, `solicitGateway`, `processImplicitGateway`,
`gossipGatewaysToInboundGateway`, `updateURLs`.
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
)
from framework.wire.closed_state import ClosedState
from framework_gateway.effect import (
    Admit,
    Dial,
    Greet,
    Led,
    RemoteChanged,
)
from framework_gateway.info import ALL_INTEREST_TOLD, GOSSIP, gossip, introduction
from framework_gateway.limits import (
    ACCOUNTS_MAX,
    CONNECT_DELAY_MAX_S,
    CONNECT_DELAY_S,
    CONNECT_ERROR_REPORTS,
    GOSSIPED_MAX,
    HANDSHAKES_MAX,
    RECONNECT_DELAY_S,
    RECONNECT_JITTER_S,
    URLS_MAX,
)
from framework_gateway.peer import INTEREST_ONLY, TRANSITIONING, Connection, Remote
from framework_gateway.url import parse_gateway_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from framework.peering import PeerUrl
    from framework.spec import LinkId
    from framework_gateway.effect import MeshEffect
    from framework_gateway.info import GatewayInfo
    from framework_gateway.settings import MeshSettings

_DOUBLINGS_MAX = 8
"""More of them would pass the greatest delay anyway."""


class Mesh:
    """Keep this server connected to all other clusters.

    Args:
        local: How this server introduces itself.
        settings: See there.
        tokens: Numbers that nobody has had yet, so that no late answer is taken for another.
        check: Returns what plugins have against a server; empty: nothing.
    """

    def __init__(
        self,
        *,
        local: GatewayInfo,
        settings: MeshSettings,
        tokens: Iterator[int],
        check: Callable[[GatewayInfo], str] = lambda _: "",
    ) -> None:
        self._local = local
        self._settings = settings
        self._tokens = tokens
        self._check = check
        self._remotes: dict[str, Remote] = {}
        self._connections: dict[LinkId, Connection] = {}
        self._neighbours: dict[str, str] = {}
        """Gateway URLs of the other servers of this cluster, by server name."""
        self._names: set[str] = set()
        """Names of the other servers of this cluster."""
        self._is_lame_duck = False
        self._is_stopping = False
        self._configure()

    def _configure(self) -> None:
        """Follow the clusters that are configured now; what was learned of them stays."""
        configured = {it.name: it for it in self._settings.remotes}
        for name in configured:
            self._remotes.setdefault(name, Remote(name))
        for name, remote in self._remotes.items():
            settings = configured.get(name)
            remote.configured = settings.urls if settings else ()
            remote.tls = settings.tls if settings else None

    # -- what may be asked ------------------------------------------------------------------------

    @property
    def local(self) -> GatewayInfo:
        """Return how this server introduces itself."""
        return self._local

    @property
    def remotes(self) -> Mapping[str, Remote]:
        """Return the clusters that are known, by name."""
        return self._remotes

    @property
    def connections(self) -> Mapping[LinkId, Connection]:
        """Return all connections, also those that are not registered yet."""
        return self._connections

    def dialed(self, token: int) -> Remote | None:
        """Return the cluster that is being dialed; None: it is not any more."""
        return next((it for it in self._remotes.values() if it.token == token), None)

    def outbound(self, name: str) -> Connection | None:
        """Return the registered connection to a cluster, by which messages go there."""
        remote = self._remotes.get(name)
        connection = self._connections.get(remote.link) if remote and remote.link else None
        return connection if connection is not None and connection.info is not None else None

    def inbound(self) -> Iterator[Connection]:
        """Yield the registered connections of others to this server."""
        return (it for it in self._connections.values() if it.info and not it.is_outbound)

    # -- life of the server -----------------------------------------------------------------------

    def start(self) -> Sequence[MeshEffect]:
        """Dial the clusters that are configured."""
        return [it for remote in self._remotes.values() for it in self._dial(remote)]

    def stop(self) -> None:
        """Miss no connection that ends from now on."""
        self._is_stopping = True

    def receive_reload(self, settings: MeshSettings, local: GatewayInfo) -> Sequence[MeshEffect]:
        """Follow other settings; connections that are up stay, unless they are not welcome now.

        A cluster that is not configured any more is one that others tell of, as long as it is
        connected.
        """
        self._settings = settings
        self._configure()
        effects = [*self._change_local(local), *self._dismiss_unwelcome()]
        for remote in list(self._remotes.values()):
            if remote.link is None and self._is_forgotten(remote):
                del self._remotes[remote.name]
            else:
                effects += self._dial(remote)
        return effects

    def _is_forgotten(self, remote: Remote) -> bool:
        """Tell whether a cluster without a connection is not to be dialed any more."""
        is_unwelcome = self._settings.rejects_unknown or not self._has_inbound(remote.name)
        return remote.is_implicit and is_unwelcome

    def _dismiss_unwelcome(self) -> Iterator[MeshEffect]:
        for each in self._connections.values():
            if each.gateway and not self._is_welcome(each.gateway):
                yield self._reject(each.link)

    def _reject(self, link: LinkId) -> Dismiss:
        words = f'Connection to gateway "{self._local.gateway}" rejected'
        return Dismiss(link, ClosedState.WRONG_GATEWAY, words)

    def begin_lame_duck(self) -> Sequence[MeshEffect]:
        """Tell other clusters of the other servers of this one alone, if there are any.

        nats-server goes on telling of all: who loses its connection here may try this server again.
        """
        self._is_lame_duck = True
        return self._change_local(self._local)

    def receive_neighbours(
        self, names: Sequence[str], urls: Mapping[str, str]
    ) -> Sequence[MeshEffect]:
        """Take who the other servers of this cluster are, and where their gateways are.

        Args:
            names: Of all of them.
            urls: `host:port` by server name.
        """
        has_new = not self._names.issuperset(names)
        self._names = set(names)
        self._neighbours = dict(urls)
        known = [it for it in self._remotes.values() if has_new and self.outbound(it.name)]
        told = [RemoteChanged(it.name, tuple(it.urls)) for it in known]
        return [*self._change_local(self._local), *told]

    def _change_local(self, local: GatewayInfo) -> Sequence[MeshEffect]:
        """Introduce this server in another way, and tell all who have connected to it."""
        others = self._neighbours.values()
        is_named = not (self._is_lame_duck and others)
        all_urls = dict.fromkeys((*([local.gateway_url] if is_named else []), *others))
        changed = replace(local, gateway_urls=tuple(all_urls)[:URLS_MAX])
        if changed == self._local:
            return []
        self._local = changed
        line = introduction(changed)
        return [LocalChanged(changed), *(Tell(it.link, line) for it in self.inbound())]

    # -- dialing ----------------------------------------------------------------------------------

    def _dial(self, remote: Remote) -> Sequence[MeshEffect]:
        """Try all URLs of a cluster, unless it is connected or being dialed."""
        if self._is_stopping or remote.link is not None or remote.token or not remote.urls:
            return []
        remote.token = next(self._tokens)
        urls = tuple(self._with_login(url) for url in remote.urls.values())
        kind = "implicit" if remote.is_implicit else "explicit"
        connecting = 'Connecting to {kind} gateway "{gateway}" (attempt {count})'
        fields = {"kind": kind, "gateway": remote.name, "count": remote.rounds + 1}
        level = Level.INFO if _is_reported(remote.rounds) else Level.DEBUG
        return [Noted(level, connecting, fields), Dial(remote.token, urls)]

    def _with_login(self, url: PeerUrl) -> PeerUrl:
        if url.user:
            return url
        return replace(url, user=self._settings.user, password=self._settings.password)

    def _wait(self, remote: Remote, delay_s: float, jitter_s: float = 0.0) -> Sequence[MeshEffect]:
        remote.token = next(self._tokens)
        return [Wait(remote.token, delay_s, jitter_s)]

    def receive_timer(self, token: int) -> Sequence[MeshEffect]:
        """Take that the time of a `Wait` has passed."""
        remote = self.dialed(token)
        if remote is None:
            return []
        remote.token = 0
        return self._dial(remote)

    def receive_dial_failed(self, token: int, error: str) -> Sequence[MeshEffect]:
        """Take that no URL of a cluster answers.

        Args:
            token: Of the `Dial`.
            error: Of the last URL, for the log.
        """
        remote = self.dialed(token)
        if remote is None:
            return []
        remote.token = 0
        level = Level.ERROR if _is_reported(remote.rounds) else Level.DEBUG
        remote.rounds += 1
        kind = "implicit" if remote.is_implicit else "explicit"
        failed = 'Error connecting to {kind} gateway "{gateway}" (attempt {count}): {error}'
        fields = {"kind": kind, "gateway": remote.name, "count": remote.rounds, "error": error}
        noted = Noted(level, failed, fields)
        if self._is_given_up(remote):
            del self._remotes[remote.name]
            return [noted]
        delay_s = CONNECT_DELAY_S
        if self._settings.has_connect_backoff:
            delay_s *= 2.0 ** min(remote.rounds - 1, _DOUBLINGS_MAX)
        return [noted, *self._wait(remote, min(delay_s, CONNECT_DELAY_MAX_S))]

    def _is_given_up(self, remote: Remote) -> bool:
        if not remote.is_implicit or self._has_inbound(remote.name):
            return False
        return remote.rounds > self._settings.connect_retries

    def _has_inbound(self, name: str) -> bool:
        return any(it.gateway == name for it in self.inbound())

    # -- life of a connection ---------------------------------------------------------------------

    def receive_opened(
        self, link: LinkId, token: int, host: str, port: int, url: PeerUrl | None
    ) -> Sequence[MeshEffect]:
        """Take a new connection: one that we dialed, or one that was accepted.

        Args:
            link: Its link.
            token: Of the `Dial`; 0: it was accepted.
            host: Of the other end.
            port: Of the other end.
            url: Which one was reached; None: it was accepted.
        """
        if url is None:
            if sum(not it.is_outbound and it.info is None for it in self._connections.values()) >= (
                HANDSHAKES_MAX
            ):
                return [Dismiss(link, ClosedState.MAX_CONNECTIONS_EXCEEDED)]
            self._connections[link] = Connection(link, host, port, greeted=self._local)
            return [Greet(link)]
        remote = self.dialed(token)
        if remote is None:
            return [Dismiss(link, ClosedState.DUPLICATE_ROUTE)]
        remote.token, remote.link = 0, link
        self._connections[link] = Connection(link, host, port, url, remote.name)
        return [Greet(link, remote.name)]

    def receive_claim(self, link: LinkId, gateway: str) -> Sequence[MeshEffect]:
        """Decide whether a cluster that dialed may connect."""
        connection = self._connections.get(link)
        if connection is None:
            return []
        connection.gateway = gateway
        return self._refuse_unwelcome(link, gateway) or [AcceptClaim(link)]

    def _refuse_unwelcome(self, link: LinkId, gateway: str) -> Sequence[MeshEffect]:
        """Say no to a cluster that may not connect; nothing: it may."""
        if self._is_welcome(gateway):
            return []
        rejecting = 'Rejecting connection from gateway "{gateway}"'
        return [NotedOf(link, Level.ERROR, rejecting, {"gateway": gateway}), self._reject(link)]

    def _refuse_checked(self, link: LinkId, info: GatewayInfo) -> Sequence[MeshEffect]:
        """Say no to a server that plugins have something against; nothing: it may connect."""
        if not (text := self._check(info)):
            return []
        noted = NotedOf(link, Level.ERROR, "{detail}", {"detail": text})
        return [noted, Dismiss(link, ClosedState.PROTOCOL_VIOLATION, text)]

    def recheck(self) -> Sequence[MeshEffect]:
        """Dismiss connections that plugins have something against now."""
        return [
            effect
            for it in self._connections.values()
            if it.info is not None
            for effect in self._refuse_checked(it.link, it.info)
        ]

    def _is_welcome(self, gateway: str) -> bool:
        if not self._settings.rejects_unknown:
            return True
        remote = self._remotes.get(gateway)
        return remote is not None and not remote.is_implicit

    def receive_introduction(
        self, link: LinkId, info: GatewayInfo, now_ns: int
    ) -> Sequence[MeshEffect]:
        """Decide whether a peer is registered.

        Args:
            link: Its connection.
            info: How it introduces itself.
            now_ns: Of any clock that goes steadily.
        """
        connection = self._connections.get(link)
        if connection is None:
            return []
        if info.server_name in {*self._names, self._local.server_name} - {""}:
            duplicate = 'Remote server has a duplicate name: "{name}"'
            return [
                NotedOf(link, Level.ERROR, duplicate, {"name": info.server_name}),
                Dismiss(link, ClosedState.DUPLICATE_SERVER_NAME),
            ]
        # It may have claimed another name.
        refusal = self._refuse_unwelcome(link, info.gateway) or self._refuse_checked(link, info)
        if refusal:
            return refusal
        connection.gateway = info.gateway
        connection.info, connection.registered_ns = info, now_ns
        if connection.is_outbound:
            return self._take_outbound(connection, info)
        has_changed = connection.greeted != self._local
        return [
            Admit(link),
            *([Tell(link, introduction(self._local))] if has_changed else []),
            *self._learn(info.gateway, info.gateway_urls),
            *self._gossip_to(connection),
        ]

    def _take_outbound(self, connection: Connection, info: GatewayInfo) -> Sequence[MeshEffect]:
        remote = self._remotes[info.gateway]
        remote.rounds = 0
        self._take_urls(remote, info.gateway_urls)
        changed = RemoteChanged(remote.name, tuple(remote.urls))
        return [Admit(connection.link), Led(remote.name, connection.link), changed]

    def receive_update(self, link: LinkId, info: GatewayInfo) -> Sequence[MeshEffect]:
        """Take what the peer of an outbound connection says later: of itself, or of others."""
        connection = self._connections.get(link)
        if connection is None or connection.info is None:
            return []
        if info.gateway_cmd == GOSSIP and info.gateway != connection.gateway:
            return self.receive_gossip(info.gateway, info.gateway_urls)
        if info.gateway_cmd:
            _note_account(connection, info)
            return []
        remote = self._remotes[info.gateway]
        self._take_urls(remote, info.gateway_urls)
        return [RemoteChanged(remote.name, tuple(remote.urls))]

    def receive_gossip(self, gateway: str, urls: Sequence[str]) -> Sequence[MeshEffect]:
        """Take that somebody tells of a cluster, unless it would not be welcome."""
        return self._learn(gateway, urls) if self._is_welcome(gateway) else []

    def receive_closed(self, link: LinkId, now_ns: int, settled_ns: int) -> Sequence[MeshEffect]:
        """Take that a connection has ended, and dial its cluster again.

        Args:
            link: Its link.
            now_ns: Of the same clock as at its introduction.
            settled_ns: How long it must have lived to be repaired at once.
        """
        connection = self._connections.pop(link, None)
        if connection is None or not connection.is_outbound:
            return []
        remote = self._remotes.get(connection.gateway)
        if remote is None or remote.link != link:
            return []
        remote.link = None
        led = [Led(remote.name, None)] if connection.info is not None else []
        if not self._is_welcome(remote.name):
            del self._remotes[remote.name]
            return led
        if self._is_stopping:
            return led
        is_settled = connection.info is not None and (
            now_ns - connection.registered_ns >= settled_ns
        )
        remote.refusals = 0 if is_settled else remote.refusals + 1
        return [*led, *self._wait(remote, self._pause_s(remote), RECONNECT_JITTER_S)]

    def _pause_s(self, remote: Remote) -> float:
        """Return the time before a cluster is dialed again that has ended its connection."""
        if not remote.refusals:
            return 0.0
        if not remote.is_implicit and not self._settings.has_connect_backoff:
            return RECONNECT_DELAY_S
        doubled = RECONNECT_DELAY_S * 2.0 ** min(remote.refusals - 1, _DOUBLINGS_MAX)
        return min(doubled, CONNECT_DELAY_MAX_S)

    # -- gossip -----------------------------------------------------------------------------------

    def _learn(self, gateway: str, urls: Sequence[str]) -> Sequence[MeshEffect]:
        """Take where a cluster is, and dial it if it is new."""
        if not gateway or gateway == self._local.gateway:
            return []
        remote = self._remotes.get(gateway)
        if remote is not None:
            remote.learned = {**_parsed(urls), **remote.learned}
            _shorten(remote)
            return self._dial(remote)
        if sum(it.is_implicit for it in self._remotes.values()) >= GOSSIPED_MAX:
            dropped = "Told of more than {count} clusters, dropped one"
            return [Noted(Level.DEBUG, dropped, {"count": GOSSIPED_MAX})]
        remote = Remote(gateway, learned=_parsed(urls))
        if not remote.learned:
            return []
        self._remotes[gateway] = remote
        return self._dial(remote)

    def _take_urls(self, remote: Remote, urls: Sequence[str]) -> None:
        """Take the URLs that a cluster says of itself: in place of those that were learned."""
        if urls:
            remote.learned = _parsed(urls)
            _shorten(remote)

    def _gossip_to(self, inbound: Connection) -> Sequence[MeshEffect]:
        """Tell who has connected of all other clusters."""
        others = [
            (it.name, tuple(it.urls))
            for it in self._remotes.values()
            if it.name != inbound.gateway and it.urls
        ]
        own_id = self._local.server_id
        return [Tell(inbound.link, gossip(own_id, name, urls)) for name, urls in others]


def _note_account(connection: Connection, info: GatewayInfo) -> None:
    """Remember whether interest of an account was told; what it is, the plane takes from lines."""
    name = info.account
    if name in connection.accounts or len(connection.accounts) < ACCOUNTS_MAX:
        is_told = info.gateway_cmd == ALL_INTEREST_TOLD
        connection.accounts[name] = INTEREST_ONLY if is_told else TRANSITIONING


def _parsed(urls: Sequence[str]) -> dict[str, PeerUrl]:
    """Return those URLs that are any, by `host:port`."""
    parsed: dict[str, PeerUrl] = {}
    for text in urls[:URLS_MAX]:
        try:
            url = parse_gateway_url(text)
        except ValueError:
            continue
        parsed[url.address] = replace(url, user="", password="")
    return parsed


def _shorten(remote: Remote) -> None:
    if len(remote.learned) > URLS_MAX:
        remote.learned = dict(list(remote.learned.items())[:URLS_MAX])


def _is_reported(rounds: int) -> bool:
    return rounds == 0 or (rounds + 1) % CONNECT_ERROR_REPORTS == 0
