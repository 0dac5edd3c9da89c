"""Authenticators: decide which clients may log in."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct

from framework.actors import Reply
from framework.dataplane.link import LinkId, LinkKind
from framework.dataplane.permissions import Permissions
from framework.spec._checks import check, check_function, check_name
from framework.spec.account import GLOBAL_ACCOUNT
from framework.spec.quota import Quota
from framework.wire.closed_state import ClosedState
from framework.wire.info import ClientConnect


class TlsPeer(Struct, frozen=True, kw_only=True):
    """TLS version, cipher and certificates of a connection."""

    version: str
    """`1.2` or `1.3`."""
    cipher: str
    """Its name, as in RFC 8446."""
    certificates: tuple[bytes, ...] = ()
    """What the peer showed, in DER, its own first; empty: it showed none. Checked already."""
    is_first: bool = False
    """The handshake came before INFO."""


class LoginRequest(Struct, frozen=True, kw_only=True):
    """A login: the connection, and the credentials of its CONNECT."""

    link: LinkId
    kind: LinkKind
    cid: int
    """Counts connections of all kinds from 1."""
    host: str
    port: int
    connect: ClientConnect
    """As the client sent it; its secrets are not in its `repr`, and belong into no log.

    Of a client that said something else first, all fields are empty.
    """
    nonce: bytes = b""
    """What the client was asked to sign by its INFO; of this connection alone."""
    tls: TlsPeer | None = None
    """None: a plain connection."""
    connection_type: str = "STANDARD"
    """As `allowed_connection_types` has it: `WEBSOCKET`, `LEAFNODE`, `MQTT`, `IN_PROCESS`, ..."""
    no_auth_user: str = ""
    """Whom a client is that says nothing of who it is, by the port that it came to; empty: as at
    other ports."""


class ConnectionLimits(Struct, frozen=True, kw_only=True):
    """Limits of one connection, beside those of server and account; -1: none."""

    max_subscriptions: int = -1
    max_payload: int = -1


class Accepted(Struct, frozen=True):
    """Answer: the login is accepted."""

    user: str
    """Who it is, for monitoring and logs; no secret."""
    account: str = GLOBAL_ACCOUNT
    """Name of a known account: the core refuses who is let into another."""
    permissions: Permissions | None = None
    """None: those that the account has for everybody, or else all."""
    limits: ConnectionLimits | None = None
    expires_s: float = 0.0
    """Unix time at which the connection ends; 0: never."""
    name_tag: str = ""
    """What people call the user, when `user` is a key."""
    issuer: str = ""
    """Public key of who vouches for the user."""
    jwt: str = ""
    """The user's claim, for `/connz`; it holds no secret, but the core shows it only on request."""
    tags: tuple[str, ...] = ()
    quotas: tuple[Quota, ...] = ()
    """How much it may publish; a recheck may change them."""
    proof: object = None
    """For `Authenticator.recheck`; whatever tells whether the answer would still be the same."""


class Refused(Struct, frozen=True):
    """Answer: the login is refused, and the connection closed."""

    detail: str = ""
    """Why, for the log; the client is not told. No secret; empty when there is no more to say."""
    user: str = ""
    """Whom it claimed to be, where CONNECT does not say so: the key in a JWT."""
    reason: ClosedState = ClosedState.AUTHENTICATION_VIOLATION
    """Of a recheck: `REVOCATION`, or `AUTHENTICATION_EXPIRED`, which the client is told."""


LoginAnswer: TypeAlias = Accepted | Refused | None
"""None: the next authenticator decides; after the last one, the connection is refused."""


class Authenticator(Struct, frozen=True, kw_only=True):
    """One way to authenticate clients."""

    name: str
    """Unique in the server; for the log, and for the option `authenticators`."""
    authenticate: Callable[[LoginRequest], Reply[LoginAnswer]]
    """Called in the control loop, once for each CONNECT of a client, and must not block.

    The reply may be set before it is returned, or later from any thread. Who raises, or answers
    with something else, has refused; who never answers has refused when the time is over.
    """
    recheck: Callable[[LoginRequest, Accepted], Accepted | Refused] | None = None
    """Called after a reload, and by `ServerContext.recheck_logins`, for who was accepted earlier.

    The request is as it was, without secrets. Who is refused, or accepted into another account, is
    closed; new permissions and limits take effect at once. None: the answer stands as it is.
    Where anybody is let in, also for who came while nobody was asked; there is no proof then.
    """
    timeout_s: float = 2.0
    """For CONNECT, and then, with a second more, for the answer; of several authenticators, the
    longest counts."""
    wants_nonce: bool = False
    """Clients are given a nonce to sign."""
    lets_anybody_in: bool = False
    """Clients need not log in, but may: who begins without CONNECT is asked about all the same."""
    asks_anyway: bool = False
    """INFO asks for a login although clients need none."""
    transport: str = ""
    """Name of a transport: it decides on clients of that one alone, who are asked about at no
    other then. Empty: on all others."""
    plugin: str = ""
    """Whose it is; the core fills it in."""

    def __post_init__(self) -> None:
        check_name("authenticator", self.name)
        what = f"authenticator {self.name}"
        check_function(what, "authenticate", self.authenticate)
        check(what, "timeout_s", self.timeout_s, is_good=self.timeout_s > 0, expected="above 0")
