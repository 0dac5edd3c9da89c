"""Client connections of a server: login, resume, close, closed clients.

A machine: told what the data plane reports, it commands the plane, and returns the questions
that its actor asks authenticators. A connection costs it less than 80 microseconds from open to
close, so that 10,000 may come and go in a second.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from framework.errors import ProtocolError
from framework.monitor import ClosedClient
from framework.monitor.limits import CLOSED_CLIENTS_MAX
from framework.server.clients.client_changes import ClientChanges
from framework.server.clients.client_row import Client, as_claimed, label_of, without_secrets
from framework.server.clients.client_table import ClientTable
from framework.server.clients.connect_rules import check_connect
from framework.server.clients.logins import Logins, Question
from framework.server.clients.refusals import log_refusal
from framework.server.clients.violations import log_violated
from framework.server.logging.log_line import DEBUG
from framework.spec import (
    GLOBAL_ACCOUNT,
    Accepted,
    Closed,
    ClosedState,
    Greeting,
    Opened,
    Refused,
    Traced,
    Violated,
)
from framework.spec.endings import log_ending
from framework.spec.tracing import log_traced
from framework.wire.document import parse_document
from framework.wire.info import ClientConnect

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, MutableMapping, Sequence

    from structlog.typing import FilteringBoundLogger

    from framework.server.clients.client_notices import ClientWatcher, ConnectionNotices
    from framework.server.plane_port import ServerPlane
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
        plane: Takes the answers.
        accounts: Where clients are let into.
        headers: Whether clients may use headers.
        notices: Hears of who comes and goes; None when nobody wants to.
        log: The server's logger.
        wall_s: The Unix time.
        describe: What services of other accounts are told of a client.
        remote_count: Returns the clients of an account on other servers.
        tls_peers: Of links that speak TLS, from before their CONNECT to their end.
        closed_max: How many connections that are gone are remembered.
    """

    def __init__(
        self,
        plane: ServerPlane,
        *,
        accounts: AccountBook,
        headers: bool,
        notices: ConnectionNotices | None,
        log: FilteringBoundLogger,
        wall_s: Callable[[], float],
        describe: Callable[[Client], tuple[bytes, bytes]],
        remote_count: Callable[[str], int] = lambda _: 0,
        tls_peers: MutableMapping[LinkId, TlsPeer] | None = None,
        closed_max: int = CLOSED_CLIENTS_MAX,
    ) -> None:
        assert closed_max > 0
        self.accepted_count = 0
        """Clients that were accepted since the start."""
        self.closed: deque[ClosedClient] = deque(maxlen=closed_max)
        """The latest that are gone, oldest first."""
        self.watchers: list[ClientWatcher] = []
        """Who hears of clients inside the server."""
        self._plane = plane
        self._headers = headers
        self._notices = notices
        self._log = log
        self._tls_peers = {} if tls_peers is None else tls_peers
        self._table = ClientTable()
        self._logins = Logins(log=log)
        self.changes = ClientChanges(
            plane,
            self._table,
            self._logins,
            accounts=accounts,
            log=log,
            wall_s=wall_s,
            describe=describe,
            remote_count=remote_count,
        )
        """Reassigns logged-in clients."""

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

    def links(self) -> Sequence[LinkId]:
        """Return the links that are open, oldest first."""
        return self._table.links()

    def count(self, account: str) -> int:
        """Return how many clients are in an account."""
        return self._table.count(account)

    def counts(self) -> Mapping[str, int]:
        """Return how many clients are in each account that has any."""
        return self._table.counts()

    def connect_of(self, link: LinkId) -> ClientConnect | None:
        """Return the CONNECT of a client."""
        client = self._table.get(link)
        return client.connect if client else None

    def identity_of(self, link: LinkId) -> ClientIdentity | None:
        """Return the identity of a client; None before its CONNECT was accepted."""
        client = self._table.get(link)
        return client.identity if client else None

    def receive(self, events: Sequence[Event]) -> Sequence[Question]:
        """Receive events of client links, in order; return questions for authenticators."""
        self._plane.hold()
        try:
            return self._receive_all(events)
        finally:
            self._plane.release()

    def _receive_all(self, events: Sequence[Event]) -> Sequence[Question]:
        debug = self._log.is_enabled_for(DEBUG)
        questions: list[Question] = []
        for event in events:
            match event:
                case Opened():
                    self._receive_opened(event, debug=debug)
                case Greeting(verb="CONNECT"):
                    questions += self._receive_connect(event)
                case Closed():
                    self._receive_closed(event, debug=debug)
                case Violated(link=link) if client := self._table.get(link):
                    log_violated(self._log, client, event)
                case Traced(link=link) if client := self._table.get(link):
                    log_traced(self._log.bind(**client.prefix()), event)
                case _:
                    continue
        return questions

    def _receive_opened(self, event: Opened, *, debug: bool) -> None:
        self.accepted_count += 1
        client = Client(event.link, event.cid, event.host, event.port, event.opened_ns, event.nonce)
        if debug:
            self._log.debug("Client connection created", remote=client.remote(), cid=client.cid)
        evicted = self._logins.admit(event.link, event.host)
        if evicted != event.link:
            self._table.add(client)
        if evicted is not None:
            self._make_room(evicted, client)

    def _make_room(self, evicted: LinkId, client: Client) -> None:
        """Close a client that is one too many: the newcomer, or the one that goes for it."""
        self._log.error("Too many pending logins", remote=client.remote(), cid=client.cid)
        silent = self._table.get(evicted)
        if silent is None:
            # Nor is it remembered: a flood must not push out those that operators look for.
            words = b"-ERR 'maximum connections exceeded'\r\n"
            self._plane.close(evicted, ClosedState.MAX_CONNECTIONS_EXCEEDED, words)
            return
        self._table.remove(evicted)
        words = b"-ERR 'Authentication Timeout'\r\n"
        self._plane.close(evicted, ClosedState.AUTHENTICATION_TIMEOUT, words)

    def _receive_connect(self, event: Greeting) -> Sequence[Question]:
        client = self._table.get(event.link)
        if client is None or client.is_closing:
            return ()
        client.has_greeted = True
        client.tls = self._tls_peers.get(event.link)
        connect: ClientConnect | None = None
        try:
            connect = parse_document(ClientConnect, event.document)
            check_connect(connect, headers=self._headers)
        except ProtocolError as error:
            self._log.error("{detail}", detail=str(error), **client.prefix())
            if connect and not client.has_begun:
                client.connect = as_claimed(connect)
            self.changes.close(client, error.reason, error.text)
            return ()
        if self._logins.are_required:
            return (self._logins.begin(event.link, client.request(connect)),)
        self._admit(client, connect, None, GLOBAL_ACCOUNT)
        return ()

    def receive_answer(self, link: LinkId, outcome: object) -> Sequence[Question]:
        """Receive an authenticator's answer, or its exception; return the next question."""
        decision = self._logins.receive(link, outcome)
        client = self._table.get(link)
        if decision is None or client is None or client.is_closing:
            return ()  # it has gone
        connect = decision.request.connect
        match decision.step:
            case Question() as question:
                return (question,)
            case Accepted() as accepted:
                client.authenticator = decision.authenticator
                self._admit(client, connect, accepted, accepted.account)
                if not decision.is_current:
                    self.changes.recheck([client])
            case Refused() as refused:
                self._refuse(client, connect, refused)
        return ()

    def _admit(
        self, client: Client, connect: ClientConnect, accepted: Accepted | None, account: str
    ) -> None:
        """Let a client into an account, if there is such, and room in it."""
        user = accepted.user if accepted else connect.user
        label, is_first = label_of(connect, user), not client.has_begun
        shown = without_secrets(connect, user)
        refused = self.changes.enter(client, shown, accepted, account)
        if refused is not None:
            self._refuse(client, connect, refused)
            return
        client.label = label
        self._logins.settle(client.link)
        self._plane.resume_client(
            client.link,
            account=self.changes.index_of(client),
            verbose=connect.verbose,
            pedantic=connect.pedantic,
            echo=connect.echo,
            headers=self._headers and connect.headers,
            no_responders=connect.no_responders,
            protocol=connect.protocol,
            **self.changes.powers_of(client),
        )
        if is_first:
            self._report_opened(client)

    def _report_opened(self, client: Client) -> None:
        seen = client.seen()
        if self._notices:
            self._notices.report_opened(seen.connection)
        for watcher in self.watchers:
            watcher.client_connected(seen)

    def _refuse(self, client: Client, connect: ClientConnect, refused: Refused) -> None:
        """Close a client that may not come in."""
        full = ClosedState.MAX_ACCOUNT_CONNECTIONS_EXCEEDED
        if refused.reason is not full:
            log_refusal(self._log, client, connect, refused)
        if not client.has_begun:
            client.connect = as_claimed(connect, refused.user)
        reason = full if refused.reason is full else ClosedState.AUTHENTICATION_VIOLATION
        self.changes.close(client, reason)

    def _receive_closed(self, event: Closed, *, debug: bool) -> None:
        client = self._table.remove(event.link)
        self._logins.forget(event.link)
        self._tls_peers.pop(event.link, None)
        if client is None:
            return
        self.changes.forget(client)
        violated = event.reason is ClosedState.AUTHENTICATION_VIOLATION
        if violated and not client.has_greeted:
            # The plane has closed it, because it said something else before it logged in.
            self._log.error("authentication error", remote=client.remote(), cid=client.cid)
        self.closed.append(
            ClosedClient(event.row, client.connect, event.reason, event.closed_ns, client.identity)
        )
        log = self._log.bind(**client.prefix())
        log_ending(log, event)
        if debug:
            log.debug("Client connection closed: {reason}", reason=event.reason.text)
        self._report_closed(client, event, violated=violated)

    def _report_closed(self, client: Client, event: Closed, *, violated: bool) -> None:
        seen = client.seen()
        if self._notices and client.has_begun:
            self._notices.report_closed(seen.connection, event.reason)
        for watcher in self.watchers:
            if violated:
                watcher.client_refused(seen, event)
            if client.has_begun:
                watcher.client_disconnected(seen, event)
