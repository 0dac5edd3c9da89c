"""All client connections of a server: who they are, who may begin, who has gone.

A machine: told what the plane reports, it answers through the plane's commands. A connection
costs it less than 40 microseconds from open to close, so that 10,000 may come and go in a second.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from framework.errors import ProtocolError
from framework.monitor import ClosedClient
from framework.monitor.limits import CLOSED_CLIENTS_MAX
from framework.server.log_line import DEBUG
from framework.server.logins import Logins, Question
from framework.spec import (
    GLOBAL_ACCOUNT,
    Accepted,
    ClientIdentity,
    Closed,
    ClosedState,
    ConnectionInfo,
    Greeting,
    LinkKind,
    LoginRequest,
    Opened,
    Refused,
    Traced,
)
from framework.spec.endings import log_ending
from framework.spec.tracing import log_traced
from framework.wire.document import parse_document
from framework.wire.info import ClientConnect
from framework.wire.version import CLIENT_PROTOCOL

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Protocol

    from structlog.typing import FilteringBoundLogger

    from framework.server.plane_port import ServerPlane
    from framework.spec import AccountBook, Authenticator, Event, LinkId

    class ConnectionNotices(Protocol):
        """Who hears of clients that came and went."""

        def report_opened(self, connection: ConnectionInfo) -> None:
            """Take note of a client whose CONNECT was accepted."""
            ...

        def report_closed(self, connection: ConnectionInfo, reason: ClosedState) -> None:
            """Take note of its end."""
            ...


@dataclass(slots=True)
class _Client:
    cid: int
    host: str
    port: int
    connect: ClientConnect | None = None
    """Without secrets once it was decided on."""
    identity: ClientIdentity | None = None
    """None before its CONNECT was accepted."""
    has_greeted: bool = False
    """A CONNECT came."""
    has_begun: bool = False
    """Its CONNECT was accepted."""


class Clients:
    """The table of clients.

    Args:
        plane: Takes the answers.
        accounts: Where clients are let into.
        headers: Whether clients may use headers.
        notices: Hears of who comes and goes; None when nobody wants to.
        log: The server's logger.
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
        closed_max: int = CLOSED_CLIENTS_MAX,
    ) -> None:
        assert closed_max > 0
        self.accepted_count = 0
        """Clients that were accepted since the start."""
        self.closed: deque[ClosedClient] = deque(maxlen=closed_max)
        """The latest that are gone, oldest first."""
        self.ask: Callable[[Question], None] | None = None
        """Asks an authenticator, whose answer comes to `receive_answer`."""
        self._plane = plane
        self._accounts = accounts
        self._headers = headers
        self._notices = notices
        self._log = log
        self._clients: dict[LinkId, _Client] = {}
        self._logins: Logins | None = None

    def require_login(self, authenticators: Sequence[Authenticator], *, waiting_max: int) -> None:
        """Let clients begin only when an authenticator accepts them; before any is there.

        Args:
            authenticators: In the order in which they are asked; at least one.
            waiting_max: Clients that may be there without having logged in.
        """
        assert not self._clients
        self._logins = Logins(authenticators, waiting_max=waiting_max, log=self._log)

    def __len__(self) -> int:
        """Return how many are open."""
        return len(self._clients)

    def links(self) -> Sequence[LinkId]:
        """Return the links that are open, oldest first."""
        return tuple(self._clients)

    def connect_of(self, link: LinkId) -> ClientConnect | None:
        """Return what a client that is connected said of itself."""
        client = self._clients.get(link)
        return client.connect if client else None

    def identity_of(self, link: LinkId) -> ClientIdentity | None:
        """Return who a client that is connected is; None before it was let in."""
        client = self._clients.get(link)
        return client.identity if client else None

    def receive(self, events: Sequence[Event]) -> None:
        """Take what happened to client links, in order."""
        debug = self._log.is_enabled_for(DEBUG)
        for event in events:
            match event:
                case Opened():
                    self._receive_opened(event, debug=debug)
                case Greeting(verb="CONNECT"):
                    self._receive_connect(event)
                case Closed():
                    self._receive_closed(event, debug=debug)
                case Traced(link=link) if client := self._clients.get(link):
                    log_traced(self._log.bind(**_prefix(client)), event)
                case _:
                    continue

    def _receive_opened(self, event: Opened, *, debug: bool) -> None:
        self.accepted_count += 1
        client = self._clients[event.link] = _Client(event.cid, event.host, event.port)
        if debug:
            self._log.debug("Client connection created", remote=_remote(client), cid=client.cid)
        if self._logins is not None and not self._logins.admit(event.link):
            self._log.error(
                "Too many clients that are not logged in", remote=_remote(client), cid=client.cid
            )
            words = b"-ERR 'maximum connections exceeded'\r\n"
            self._plane.close(event.link, ClosedState.MAX_CONNECTIONS_EXCEEDED, words)
            # Nor is it remembered: a flood must not push out those that operators look for.
            del self._clients[event.link]

    def _receive_connect(self, event: Greeting) -> None:
        client = self._clients.get(event.link)
        if client is None:
            return
        client.has_greeted = True
        try:
            connect = parse_document(ClientConnect, event.document)
            self._check(connect)
        except ProtocolError as error:
            words = f"-ERR '{error.text}'\r\n".encode()
            self._log.error("{detail}", detail=str(error), **_prefix(client))
            self._plane.close(event.link, error.reason, words)
            return
        if self._logins is None:
            client.identity = ClientIdentity(user=connect.user)
            self._begin(event.link, client, connect, account=0)
        else:
            request = LoginRequest(
                link=event.link,
                kind=LinkKind.CLIENT,
                cid=client.cid,
                host=client.host,
                port=client.port,
                connect=connect,
            )
            self._ask(self._logins.begin(event.link, request))

    def receive_answer(self, link: LinkId, outcome: object) -> None:
        """Take what came of a question to an authenticator: an answer, or an exception."""
        assert self._logins is not None
        client = self._clients.get(link)
        match self._logins.receive(link, outcome):
            case _, Question() as question:
                self._ask(question)
            case request, Accepted() as accepted if client:
                connect = _without_secrets(request.connect, accepted.user)
                self._admit(link, client, connect, accepted)
            case request, Refused(detail) if client:
                self._refuse(link, client, request.connect, detail)
            case _:
                return  # it has gone

    def _ask(self, question: Question) -> None:
        assert self.ask is not None
        self.ask(question)

    def _admit(
        self, link: LinkId, client: _Client, connect: ClientConnect, accepted: Accepted
    ) -> None:
        """Let a client into its account, if there is such."""
        try:
            account = self._accounts.index(accepted.account)
        except KeyError:
            self._refuse(link, client, connect, "its account is not known")
            return
        client.identity = ClientIdentity(
            account=accepted.account,
            user=accepted.user,
            name_tag=accepted.name_tag,
            nkey=connect.nkey,
            jwt=accepted.jwt,
            issuer_key=accepted.issuer,
            tags=accepted.tags,
            permissions=accepted.permissions,
            expires_s=accepted.expires_s,
        )
        self._begin(link, client, connect, account=account)

    def _begin(
        self, link: LinkId, client: _Client, connect: ClientConnect, *, account: int
    ) -> None:
        """Let a client begin whose CONNECT is good, or go on after another one."""
        is_first = not client.has_begun
        client.connect, client.has_begun = connect, True
        self._plane.resume_client(
            link,
            account=account,
            verbose=connect.verbose,
            pedantic=connect.pedantic,
            echo=connect.echo,
            headers=self._headers and connect.headers,
            no_responders=connect.no_responders,
            protocol=connect.protocol,
        )
        if self._notices and is_first:
            self._notices.report_opened(_connection_info(link, client))

    def _refuse(self, link: LinkId, client: _Client, connect: ClientConnect, detail: str) -> None:
        """Close a client that was not accepted.

        Source: nats-server `client.go`, `authViolation`.
        """
        shown = connect.user or ("[REDACTED]" if connect.auth_token else "")
        client.connect = _without_secrets(connect, shown)
        event = "authentication error"
        fields = {"detail": detail} if detail else {}
        if connect.user:
            event = 'authentication error - User "{user}"'
            fields["user"] = connect.user
        elif connect.auth_token:
            event = 'authentication error - Token "[REDACTED]"'
        self._log.error(event, remote=_remote(client), cid=client.cid, **fields)
        words = b"-ERR 'Authorization Violation'\r\n"
        self._plane.close(link, ClosedState.AUTHENTICATION_VIOLATION, words)

    def _check(self, connect: ClientConnect) -> None:
        """Refuse what nats-server refuses, in its words.

        Source: nats-server `client.go`, `processConnect`.
        """
        if connect.account:
            raise ProtocolError(
                "authentication error",
                text="Authorization Violation",
                reason=ClosedState.AUTHENTICATION_VIOLATION,
            )
        if not 0 <= connect.protocol <= CLIENT_PROTOCOL:
            raise ProtocolError(
                "invalid client protocol",
                text="invalid client protocol",
                reason=ClosedState.BAD_CLIENT_PROTOCOL_VERSION,
            )
        if connect.no_responders and not (self._headers and connect.headers):
            raise ProtocolError(
                "no responders requires headers support",
                text="no responders requires headers support",
                reason=ClosedState.NO_RESPONDERS_REQUIRES_HEADERS,
            )

    def _receive_closed(self, event: Closed, *, debug: bool) -> None:
        client = self._clients.pop(event.link, None)
        if client is None:
            return
        if self._logins is not None:
            self._logins.forget(event.link)
        connect = client.connect
        violated = event.reason is ClosedState.AUTHENTICATION_VIOLATION
        if violated and not client.has_greeted:
            # The plane has closed it, because it said something else before it logged in.
            self._log.error("authentication error", remote=_remote(client), cid=client.cid)
        self.closed.append(
            ClosedClient(event.row, connect, event.reason, event.closed_ns, client.identity)
        )
        log = self._log.bind(**_prefix(client))
        log_ending(log, event)
        if debug:
            log.debug("Client connection closed: {reason}", reason=event.reason.text)
        if self._notices and client.has_begun:
            self._notices.report_closed(_connection_info(event.link, client), event.reason)


def _remote(client: _Client) -> str:
    host = f"[{client.host}]" if ":" in client.host else client.host
    return f"{host}:{client.port}"


def _prefix(client: _Client) -> dict[str, object]:
    """Return the fields that a client's log lines begin with, as nats-server has them."""
    fields: dict[str, object] = {"remote": _remote(client), "cid": client.cid}
    if client.has_begun and client.connect:
        fields["client"] = _label(client.connect)
        if client.connect.user:
            account = client.identity.account if client.identity else GLOBAL_ACCOUNT
            fields["login"] = f"{account}/user:{client.connect.user}"
    return fields


def _label(connect: ClientConnect) -> str:
    """Return `v1.2:python:name`, which a client is."""
    version = f"v{connect.version}" if connect.version else ""
    return ":".join(part for part in (version, connect.lang, connect.name) if part)


def _without_secrets(connect: ClientConnect, user: str) -> ClientConnect:
    return replace(connect, user=user, password="", auth_token="", jwt="", sig="")


def _connection_info(link: LinkId, client: _Client) -> ConnectionInfo:
    assert client.connect is not None
    return ConnectionInfo(
        link=link,
        kind=LinkKind.CLIENT,
        cid=client.cid,
        host=client.host,
        port=client.port,
        name=client.connect.name,
        lang=client.connect.lang,
        version=client.connect.version,
        account=client.identity.account if client.identity else GLOBAL_ACCOUNT,
        user=client.connect.user,
    )
