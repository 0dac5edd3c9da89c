"""One client connection as the client table keeps it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from framework.server.clients.client_notices import ClientSeen
from framework.server.listening import joined_address
from framework.spec import ClientIdentity, ConnectionInfo, LinkKind, LoginRequest

if TYPE_CHECKING:
    from framework.server.transports import LinkFacts
    from framework.spec import Accepted, LinkId, TlsPeer
    from framework.wire.info import ClientConnect


class Client(Struct):
    """A row of the client table."""

    link: LinkId
    cid: int
    host: str
    port: int
    opened_ns: int
    """Monotonic."""
    nonce: bytes = b""
    """What it was asked to sign; empty: nothing."""
    tls: TlsPeer | None = None
    connect: ClientConnect | None = None
    """Without secrets once it was decided on."""
    label: str = ""
    """Who it is and by which means, for the log: `user:joe`."""
    identity: ClientIdentity | None = None
    """None before its CONNECT was accepted."""
    accepted: Accepted | None = None
    """None as well when nobody had to be asked."""
    authenticator: str = ""
    """Name of the one that accepted it; empty: nobody was asked."""
    permissions: int = 0
    """Number in the data plane; 0: all."""
    limits: tuple[int, int] = (-1, -1)
    """Subscriptions and payload, as the data plane was told."""
    is_closing: bool = False
    """The plane was told to close it."""
    has_greeted: bool = False
    """A CONNECT came."""
    facts: LinkFacts | None = None
    """None: it came by NATS's own port."""

    @property
    def has_begun(self) -> bool:
        """Whether its CONNECT was accepted."""
        return self.identity is not None

    @property
    def account(self) -> str:
        """Name of the account that it is in; empty before it is in one."""
        return self.identity.account if self.identity else ""

    def request(self, connect: ClientConnect) -> LoginRequest:
        """Return the login request for an authenticator."""
        return LoginRequest(
            link=self.link,
            kind=LinkKind.CLIENT,
            cid=self.cid,
            host=self.host,
            port=self.port,
            connect=connect,
            nonce=self.nonce,
            tls=self.tls,
            connection_type=self.connection_type,
            no_auth_user=self.facts.no_auth_user if self.facts else "",
        )

    @property
    def transport(self) -> str:
        """Name of the transport that it came by; empty: by NATS's own port."""
        return self.facts.transport if self.facts else ""

    @property
    def connection_type(self) -> str:
        """As `allowed_connection_types` has it."""
        return self.facts.connection_type if self.facts else "STANDARD"

    def remote(self) -> str:
        """Return `host:port` of its end, behind the address for which it stands."""
        address = joined_address(self.host, self.port)
        stands_for = self.facts.forwarded_for if self.facts else ""
        if not stands_for:
            return address
        return f"[{stands_for}]/{address}" if ":" in stands_for else f"{stands_for}/{address}"

    def prefix(self) -> dict[str, object]:
        """Return the fields that its log lines begin with, as nats-server has them."""
        name = self.facts.connection_id if self.facts else "cid"
        fields: dict[str, object] = {"remote": self.remote(), name: self.cid}
        if self.has_begun and self.connect:
            fields["client"] = _library(self.connect)
            if self.label:
                fields["login"] = f"{self.account}/{self.label}"
        return fields

    def seen(self) -> ClientSeen:
        """Return the client as watchers see it; plugins get its `connection`."""
        connect, identity = self.connect, self.identity
        if identity is None:
            user, nkey = (connect.user, connect.nkey) if connect else ("", "")
            identity = ClientIdentity(
                account="",
                user=user,
                nkey=nkey,
                tls=self.tls,
                connection_type=self.connection_type,
            )
        connection = ConnectionInfo(
            link=self.link,
            kind=LinkKind.CLIENT,
            cid=self.cid,
            host=self.host,
            port=self.port,
            name=connect.name if connect else "",
            lang=connect.lang if connect else "",
            version=connect.version if connect else "",
            account=self.account,
            user=connect.user if connect else "",
        )
        return ClientSeen(connection, identity, self.opened_ns)


def label_of(connect: ClientConnect, user: str) -> str:
    """Return how a client authenticated, and as whom, as nats-server's log has it.

    Args:
        connect: With its secrets.
        user: As the authenticator says; empty: nobody was asked.

    Source: nats-server `client.go`, `getAuthUserLabel`.
    """
    if connect.nkey:
        return f"nkey:{connect.nkey}"
    if connect.jwt and not connect.user and user:
        return f"jwt:{user}"
    if connect.auth_token and not connect.user:
        return "token"
    name = user or connect.user
    return f"user:{name}" if name else ""


def without_secrets(connect: ClientConnect, user: str) -> ClientConnect:
    """Return a CONNECT without its credentials."""
    return replace(connect, user=user, password="", auth_token="", jwt="", sig="")


def as_claimed(connect: ClientConnect, user: str = "") -> ClientConnect:
    """Return a CONNECT that was refused, with who it said it was.

    Args:
        connect: As it came.
        user: Who it was taken for, if CONNECT names nobody.

    Source: nats-server `client.go`, `getRawAuthUser`.
    """
    claimed = connect.nkey or connect.user
    return without_secrets(connect, claimed or ("[REDACTED]" if connect.auth_token else user))


def _library(connect: ClientConnect) -> str:
    """Return `v1.2:python:name`, which a client is."""
    version = f"v{connect.version}" if connect.version else ""
    return ":".join(part for part in (version, connect.lang, connect.name) if part)
