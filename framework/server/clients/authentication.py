"""Authentication of clients: authenticators, whether logins are required, rechecks on reload."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from framework.actors import Reply
from framework.server.clients.client_commands import ClientCommands
from framework.server.clients.client_document import client_documents
from framework.server.clients.client_listener import CLIENT_LISTENER, ClientListener
from framework.server.clients.clients import Clients
from framework.spec import ComponentSpec, LinkKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence

    from structlog.typing import FilteringBoundLogger

    from framework.actors import ActorRef
    from framework.dataplane.limits import PlaneLimits
    from framework.server.accounts.accounts import Accounts
    from framework.server.clients.client_info import ClientInfoDocument
    from framework.server.clients.client_row import Client
    from framework.server.context import Context
    from framework.server.plane_port import ServerPlane
    from framework.server.settings import ServerSettings
    from framework.server.transports import LinkFacts
    from framework.spec import Authenticator, ConnectionInfo, LinkId, Quota, TlsPeer, TransportSpec
    from framework.spec.quota import QuotaRow


class Authentication:
    """Keep data plane, INFO and client table in agreement on whether clients must log in.

    Args:
        plane: Parks clients that must.
        context: The server, as plugins see it.
        accounts: Where clients are let into.
        client_info: Tells clients.
        settings: Of the start.
        remote_count: Returns the clients of an account on other servers.
        tls_peers: Of links that speak TLS.
        facts: Of links that came by a transport.
        ask_quotas: What plugins say that a client may publish; None: no plugin says anything.
        log: The server's logger.
    """

    def __init__(
        self,
        *,
        plane: ServerPlane,
        context: Context,
        accounts: Accounts,
        client_info: ClientInfoDocument,
        settings: ServerSettings,
        remote_count: Callable[[str], int],
        tls_peers: MutableMapping[LinkId, TlsPeer],
        facts: MutableMapping[LinkId, LinkFacts],
        ask_quotas: Callable[[ConnectionInfo], Iterable[Quota]] | None,
        log: FilteringBoundLogger,
    ) -> None:
        self.clients = Clients(
            accounts=accounts,
            headers=settings.headers,
            remote_count=remote_count,
            tls_peers=tls_peers,
            facts=facts,
            closed_max=settings.closed_clients_max,
        )
        self._commands = ClientCommands(
            plane,
            self.clients,
            accounts=accounts,
            headers=settings.headers,
            notices=context,
            log=log,
            describe=self._describe,
            tls_peers=tls_peers,
            facts=facts,
            ask_quotas=ask_quotas,
        )
        self._asks_quotas = ask_quotas is not None
        self.watchers = self._commands.watchers
        """Who hears of clients inside the server."""
        self._plane = plane
        self._context = context
        self._client_info = client_info
        self._authenticators: Sequence[Authenticator] = ()
        self._transports: dict[int, TransportSpec] = {}
        """By number of the listener."""

    def add_transport(self, transport: TransportSpec, listener: int) -> None:
        """Let clients of a transport log in as it says, from the next `set` on."""
        self._transports[listener] = transport

    def component(self) -> ComponentSpec:
        """Return the actor that answers for clients."""
        arguments = {"clients": self.clients, "commands": self._commands, "wall_s": _wall_s}
        return ComponentSpec(name=CLIENT_LISTENER, factory=lambda _: (ClientListener, arguments))

    def receive_changed(self, names: Sequence[str]) -> None:
        """Reassign clients whose accounts have changed."""
        self._listener().tell(ClientListener.AccountsChanged(names))

    def keep_within(self, connections_max: int) -> None:
        """Close the latest clients that a new `max_connections` leaves no room for."""
        self._listener().tell(ClientListener.KeepWithin(connections_max))

    def rebalance(self, account: str) -> None:
        """Close clients of an account that has too many with those on other servers."""
        self._listener().tell(ClientListener.Rebalance(account))

    def set(self, authenticators: Sequence[Authenticator], settings: ServerSettings) -> None:
        """Let authenticators decide from now on.

        Args:
            authenticators: In the order in which they are asked; none: everybody may begin.
            settings: With the limits that are configured.
        """
        self._authenticators = [it for it in authenticators if not it.transport]
        limits = self.limits(settings.limits)
        self._plane.set_limits(limits)
        self._plane.set_nonces(LinkKind.CLIENT, on=any(it.wants_nonce for it in authenticators))
        pending_max = settings.pending_logins_max
        self._listener().tell(ClientListener.Authenticate(authenticators, pending_max))
        self._client_info.set_auth_required(_asks(self._authenticators))
        for listener, transport in self._transports.items():
            own = [it for it in authenticators if it.transport == transport.name]
            self._follow(listener, transport, own or self._authenticators, limits)

    def _follow(
        self,
        listener: int,
        transport: TransportSpec,
        chain: Sequence[Authenticator],
        limits: PlaneLimits,
    ) -> None:
        """Let clients of a transport log in by its authenticators."""
        limits = _with_logins(limits, chain)
        self._plane.set_login_terms(
            listener,
            required=limits.auth_required,
            lets_anybody_in=limits.lets_anybody_in,
            timeout_s=transport.auth_timeout_s or limits.auth_timeout_s,
        )
        self._client_info.update_listener(listener, {"auth_required": _asks(chain)})

    def limits(self, limits: PlaneLimits) -> PlaneLimits:
        """Return configured limits with what authenticators make of them."""
        return _with_logins(limits, self._authenticators)

    async def recheck_all(self) -> None:
        """Authenticate all logged-in clients again; return when that is done."""
        done: Reply[None] = Reply()
        self._listener().tell(ClientListener.Recheck(None, done))
        await done

    def quotas(self) -> Iterator[QuotaRow]:
        """Yield the quotas that clients are under."""
        return self._commands.quotas.rows()

    def follow_quotas(self) -> None:
        """Ask plugins again how much clients may publish."""
        for client in self.clients.rows() if self._asks_quotas else ():
            if client.has_begun and not client.is_closing:
                self._commands.quotas.follow(client)

    def _listener(self) -> ActorRef[Any]:
        return self._context.component(CLIENT_LISTENER)

    def _describe(self, client: Client) -> tuple[bytes, bytes]:
        """Return what services of other accounts are told of a client."""
        return client_documents(
            client,
            server=self._context.name,
            cluster=self._context.cluster_name,
            started_ns=time.time_ns() - time.monotonic_ns() + client.opened_ns,
        )


def _with_logins(limits: PlaneLimits, chain: Sequence[Authenticator]) -> PlaneLimits:
    if not chain:
        return limits
    return replace(
        limits,
        auth_required=True,
        lets_anybody_in=any(it.lets_anybody_in for it in chain),
        auth_timeout_s=max(it.timeout_s for it in chain),
    )


def _asks(chain: Sequence[Authenticator]) -> bool:
    """Return whether INFO asks for a login."""
    return bool(chain) and not any(it.lets_anybody_in and not it.asks_anyway for it in chain)


def _wall_s() -> float:
    return time.time_ns() / 1e9
