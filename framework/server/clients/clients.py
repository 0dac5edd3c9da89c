"""Client connections of a server: login, resume, close, closed clients.

A machine: told what the data plane reports, it returns effects that its actor performs. It reads
accounts, and asks nobody. A connection costs it and its actor less than 80 microseconds from open
to close, so that 10,000 may come and go in a second.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from framework.errors import ProtocolError
from framework.monitor import ClosedClient
from framework.monitor.limits import CLOSED_CLIENTS_MAX
from framework.server.clients.client_changes import ClientChanges
from framework.server.clients.client_effects import (
    Began,
    Close,
    Ended,
    Noted,
    RefusalNoted,
    Reported,
    Resume,
    take,
)
from framework.server.clients.client_row import Client, as_claimed, label_of, without_secrets
from framework.server.clients.client_table import ClientTable
from framework.server.clients.connect_rules import check_connect, with_credentials
from framework.server.clients.logins import Logins, Question
from framework.server.clients.peer_logins import PeerLogins
from framework.server.clients.refusals import FAILED
from framework.spec import (
    Accepted,
    Closed,
    ClosedState,
    Greeting,
    Opened,
    Refused,
    Traced,
    Violated,
)
from framework.wire.document import parse_document
from framework.wire.info import ClientConnect

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from framework.server.clients.client_effects import ClientEffect
    from framework.server.transports import LinkFacts
    from framework.spec import (
        AccountBook,
        Authenticator,
        ClientIdentity,
        Event,
        LinkId,
        TlsPeer,
    )


class Clients:
    """Decide what happens to client connections.

    Args:
        accounts: Where clients are let into.
        headers: Whether clients may use headers.
        remote_count: Returns the clients of an account on other servers.
        tls_peers: Of links that speak TLS, from before their CONNECT to their end.
        facts: Of links that came by a transport, in the same way.
        closed_max: How many connections that are gone are remembered.
    """

    def __init__(
        self,
        *,
        accounts: AccountBook,
        headers: bool,
        remote_count: Callable[[str], int] = lambda _: 0,
        tls_peers: Mapping[LinkId, TlsPeer],
        facts: Mapping[LinkId, LinkFacts] | None = None,
        closed_max: int = CLOSED_CLIENTS_MAX,
    ) -> None:
        assert closed_max > 0
        self.accepted_count = 0
        """Clients that were accepted since the start."""
        self.closed: deque[ClosedClient] = deque(maxlen=closed_max)
        """The latest that are gone, oldest first."""
        self._headers = headers
        self._tls_peers = tls_peers
        self._facts = {} if facts is None else facts
        self._table = ClientTable()
        self._logins = Logins()
        self._effects: list[ClientEffect] = []
        self.changes = ClientChanges(
            self._table,
            self._logins,
            self._effects,
            accounts=accounts,
            remote_count=remote_count,
        )
        """Reassigns logged-in clients."""
        self.peers = PeerLogins(self._logins, accounts=accounts)
        """Links of other kinds that log in as clients do."""

    def set_logins(self, authenticators: Sequence[Authenticator], *, waiting_max: int) -> None:
        """Set the authenticators that decide on logins from now on.

        Args:
            authenticators: In the order in which they are asked; none: everybody may begin.
            waiting_max: Clients that may be there without having logged in.
        """
        self._logins.replace(authenticators, waiting_max=waiting_max)

    def __len__(self) -> int:
        """Return how many are open."""
        return len(self._table)

    def rows(self) -> Sequence[Client]:
        """Return the clients that are open, oldest first."""
        return tuple(self._table)

    def links(self) -> Sequence[LinkId]:
        """Return the links that are open, oldest first."""
        return self._table.links()

    def count(self, account: str) -> int:
        """Return how many clients are in an account."""
        return self._table.count(account)

    def counts(self) -> Mapping[str, int]:
        """Return how many clients are in each account that has any."""
        return self._table.counts()

    def remember_closed(self, event: Closed) -> None:
        """Remember a user of another kind than clients, of whom its owner knows the rest."""
        self.closed.append(ClosedClient(event.row, None, event.reason, event.closed_ns, None))

    def connect_of(self, link: LinkId) -> ClientConnect | None:
        """Return the CONNECT of a client."""
        client = self._table.get(link)
        return client.connect if client else None

    def identity_of(self, link: LinkId) -> ClientIdentity | None:
        """Return the identity of a client; None before its CONNECT was accepted."""
        client = self._table.get(link)
        return client.identity if client else None

    def receive(self, event: Event, now_s: float) -> Sequence[ClientEffect]:
        """Receive an event of a client link.

        Args:
            event: Of any kind; those of one link in their order.
            now_s: The Unix time.
        """
        match event:
            case Opened():
                self._receive_opened(event)
            case Greeting(verb="CONNECT"):
                self._receive_connect(event, now_s)
            case Closed():
                self._receive_closed(event)
            case Violated(link=link) | Traced(link=link) if client := self._table.get(link):
                self._effects.append(Reported(client, event))
            case _:
                return ()
        return take(self._effects)

    def _receive_opened(self, event: Opened) -> None:
        self.accepted_count += 1
        client = Client(event.link, event.cid, event.host, event.port, event.opened_ns, event.nonce)
        evicted = self._logins.admit(event.link, event.host)
        if evicted != event.link:
            self._table.add(client)
        if evicted is not None:
            self._make_room(evicted, client)

    def _make_room(self, evicted: LinkId, client: Client) -> None:
        """Close a client that is one too many: the newcomer, or the one that goes for it."""
        self._note("Too many pending logins", remote=client.remote(), cid=client.cid)
        silent = self._table.get(evicted)
        if silent is None:
            # Nor is it remembered: a flood must not push out those that operators look for.
            words = b"-ERR 'maximum connections exceeded'\r\n"
            self._effects.append(Close(evicted, ClosedState.MAX_CONNECTIONS_EXCEEDED, words))
            return
        self._table.remove(evicted)
        words = b"-ERR 'Authentication Timeout'\r\n"
        self._effects.append(Close(evicted, ClosedState.AUTHENTICATION_TIMEOUT, words))

    def _note(self, event: str, **fields: object) -> None:
        self._effects.append(Noted("error", event, fields))

    def _receive_connect(self, event: Greeting, now_s: float) -> None:
        client = self._table.get(event.link)
        if client is None or client.is_closing:
            return
        client.has_greeted = True
        client.tls = self._tls_peers.get(event.link)
        client.facts = self._facts.get(event.link)
        connect: ClientConnect | None = None
        try:
            connect = parse_document(ClientConnect, event.document)
            if client.facts:
                connect = with_credentials(connect, client.facts.credentials)
            check_connect(connect, headers=self._headers)
        except ProtocolError as error:
            self._note("{detail}", detail=str(error), **client.prefix())
            if connect and not client.has_begun:
                client.connect = as_claimed(connect)
            self.changes.close(client, error.reason, error.text)
            return
        if self._logins.are_required(client.transport):
            request = client.request(connect)
            self._effects.append(self._logins.begin(event.link, request, client.transport))
        else:
            self._admit(client, connect, None, now_s)

    def receive_answer(self, link: LinkId, outcome: object, now_s: float) -> Sequence[ClientEffect]:
        """Receive an authenticator's answer, or its exception."""
        decision = self._logins.receive(link, outcome)
        client = self._table.get(link)
        if decision is None:
            return ()  # it has gone
        if decision.problem:
            asked = decision.asked
            self._note(FAILED, component=asked.name, plugin=asked.plugin, error=decision.problem)
        if link in self.peers:
            question = self.peers.receive(decision)
            self._effects += [question] if question else []
            return take(self._effects)
        if client is None or client.is_closing:
            return take(self._effects)
        connect = decision.request.connect
        match decision.step:
            case Question() as question:
                self._effects.append(question)
            case Accepted() as accepted:
                client.authenticator = decision.asked.name
                self._admit(client, connect, accepted, now_s)
                if not decision.is_current:
                    self.changes.check_again(client)
            case Refused() as refused:
                self._refuse(client, connect, refused)
        return take(self._effects)

    def _admit(
        self, client: Client, connect: ClientConnect, accepted: Accepted | None, now_s: float
    ) -> None:
        """Let a client into its account, if there is such, and room in it."""
        user = accepted.user if accepted else connect.user
        label, is_first = label_of(connect, user), not client.has_begun
        shown = without_secrets(connect, user)
        rights = self.changes.enter(client, shown, accepted, now_s)
        if isinstance(rights, Refused):
            self._refuse(client, connect, rights)
            return
        client.label = label
        self._logins.settle(client.link)
        self._effects.append(Resume(client, connect, rights))
        if is_first:
            self._effects.append(Began(client.seen()))

    def _refuse(self, client: Client, connect: ClientConnect, refused: Refused) -> None:
        """Close a client that may not come in."""
        full = ClosedState.MAX_ACCOUNT_CONNECTIONS_EXCEEDED
        if refused.reason is not full:
            self._effects.append(RefusalNoted(client, connect, refused))
        if not client.has_begun:
            client.connect = as_claimed(connect, refused.user)
        reason = full if refused.reason is full else ClosedState.AUTHENTICATION_VIOLATION
        self.changes.close(client, reason)

    def _receive_closed(self, event: Closed) -> None:
        client = self._table.remove(event.link)
        self._logins.forget(event.link)
        if client is None:
            return
        if event.reason is ClosedState.AUTHENTICATION_VIOLATION and not client.has_greeted:
            # The plane has closed it, because it said something else before it logged in.
            self._note("authentication error", remote=client.remote(), cid=client.cid)
        self.closed.append(
            ClosedClient(event.row, client.connect, event.reason, event.closed_ns, client.identity)
        )
        self._effects.append(Ended(client, event))
