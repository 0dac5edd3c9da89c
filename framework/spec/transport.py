"""Transports: how clients of a port reach the server, where that is not NATS on TCP."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Protocol, TypeAlias

from msgspec import Struct

from framework.dataplane.coding import PlaneStage
from framework.dataplane.link import LinkKind
from framework.redacted import Redacted
from framework.spec._checks import check, check_function, check_name
from framework.spec.tls import TlsSettings


class Credentials(Redacted, frozen=True, kw_only=True):
    """What a handshake knows of who connects; each counts where CONNECT says nothing of it."""

    hidden: ClassVar = frozenset({"password", "auth_token", "jwt"})

    user: str = ""
    password: str = ""
    auth_token: str = ""
    jwt: str = ""


class TransportLogin(Redacted, frozen=True, kw_only=True):
    """One login for all clients of a transport, in place of those of other ports."""

    hidden: ClassVar = frozenset({"password", "token"})

    user: str = ""
    """Empty: there is a token."""
    password: str = ""
    """Or its bcrypt hash."""
    token: str = ""
    """Or its bcrypt hash; clients that give it need no user."""


class Translated(Struct, frozen=True, kw_only=True):
    """What some bytes come to."""

    to_server: bytes = b""
    """Lines of the protocol of NATS clients."""
    to_peer: bytes = b""
    """What the client hears."""


class LinkChannel(Protocol):
    """Translate between the bytes of one client and the protocol of NATS clients.

    It begins with INFO from the server, and says CONNECT for its client; it answers PING. All of it
    is called in one thread that all such links of a server share: it must not block. What it raises
    ends the link, and is logged as the plugin's. What it holds of a client it should bound.
    """

    def receive_from_peer(self, data: bytes) -> Translated:
        """Take what the client has sent, some at a time; it ends anywhere."""
        ...

    def receive_from_server(self, data: bytes) -> Translated:
        """Take what the server has sent, some at a time; it ends anywhere."""
        ...


class ChannelStage(Struct, frozen=True):
    """A stage in Python, in a thread beside the data plane; a stage of one link.

    Cost: some microseconds for what comes at a time, and two copies.
    """

    make: Callable[[], LinkChannel]
    """Called for each link."""


TransportStage: TypeAlias = PlaneStage | ChannelStage
"""A stage compiled in the data plane, or one of a plugin."""


class Arrival(Struct, frozen=True, kw_only=True):
    """A connection, as a handshake is told of it."""

    host: str
    port: int
    is_tls: bool
    """TLS was spoken before."""


class Admitted(Struct, frozen=True, kw_only=True):
    """A handshake has come to its end: the link begins, and is sent INFO."""

    answer: bytes = b""
    """Sent as it is, before anything passes the stages; at most 16 KiB."""
    stages: tuple[TransportStage, ...] | None = None
    """The one next to the socket first; None: those of the transport."""
    left: bytes = b""
    """What came behind the handshake, for the stages."""
    credentials: Credentials = Credentials()
    forwarded_for: str = ""
    """Address for which the client stands, if it says so; for the log."""
    kind: LinkKind | None = None
    """It is no client but a link of this kind, whose owner gets it as one that was accepted, and
    says INFO; None: it is what the transport's links are."""


class TurnedAway(Struct, frozen=True, kw_only=True):
    """A handshake that the peer got wrong: the connection ends."""

    answer: bytes = b""
    """Sent before it is closed."""
    problem: str
    """For the log."""


class TransportHandshake(Protocol):
    """The handshake of one connection; a machine: it is told bytes, and holds few of them."""

    def receive(self, data: bytes) -> Admitted | TurnedAway | None:
        """Take what has come, at most 4 KiB; None: more has to come."""
        ...


class DialHandshake(TransportHandshake, Protocol):
    """The handshake on a connection that was dialed; what it is admitted with has no `answer`."""

    def begin(self) -> bytes:
        """Return what is said first."""
        ...


class TransportSpec(Struct, frozen=True, kw_only=True):
    """A port that clients come to in another way than NATS's own.

    Its clients are clients like all others: they log in, have permissions and limits, are in
    `/connz`, and are closed in lame duck mode.
    """

    name: str
    """Unique among the listeners of a server; `ServerContext.listening_address` knows it."""
    host: str
    port: int
    """-1 or 0: any free one."""
    tls: TlsSettings | None = None
    """Peers speak TLS first; None: they do not."""
    kind: LinkKind = LinkKind.CLIENT
    """What its links are; so far clients."""
    stages: tuple[TransportStage, ...] = ()
    """What the bytes of each link pass, the one next to the socket first; behind TLS. At most one
    is Python's, and that stands next to the socket."""
    handshake: Callable[[Arrival], TransportHandshake] | None = None
    """Makes the handshake of a connection, which comes before its stages; None: there is none."""
    handshake_timeout_s: float = 2.0
    connection_type: str = "STANDARD"
    """As in `LoginRequest`."""
    connection_id: str = "cid"
    """What log lines call the number of such a connection; nats-server's are `cid` and `wid`."""
    no_auth_user: str = ""
    """User whom clients are that say nothing of who they are, for who decides on logins."""
    login: TransportLogin | None = None
    """What its clients give; an `Authenticator` with its name in `transport` decides on them, and
    without any the server does not start. None: they log in as at other ports."""
    auth_timeout_s: float | None = None
    """Time for the login; None: as its authenticators say."""
    ping_interval_s: float | None = None
    """Between PINGs; None: as at other ports."""
    scheme: str = "nats"
    """Of its URLs in the ports file and the log; with TLS `tls`, or an `s` behind it."""
    title: str = ""
    """What its clients are called in the log, such as `websocket clients`; empty: by the name."""
    plugin: str = ""
    """Whose it is; the core fills it in."""

    def __post_init__(self) -> None:
        check_name("transport", self.name)
        what = f"transport {self.name}"
        is_client = self.kind is LinkKind.CLIENT
        check(what, "kind", self.kind, is_good=is_client, expected="LinkKind.CLIENT")
        for name in ("handshake_timeout_s", "auth_timeout_s", "ping_interval_s"):
            time_s = getattr(self, name)
            check(what, name, time_s, is_good=time_s is None or time_s > 0, expected="above 0")
        if self.handshake is not None:
            check_function(what, "handshake", self.handshake)
        check_stages(what, self.stages)

    @property
    def url_scheme(self) -> str:
        """Return the scheme of its URLs, with TLS or without."""
        if self.tls is None:
            return self.scheme
        return "tls" if self.scheme == "nats" else f"{self.scheme}s"


def check_stages(what: str, stages: tuple[TransportStage, ...]) -> None:
    """Refuse stages in an order that can't be.

    Raises:
        ValueError: One of Python's does not stand next to the socket.
    """
    inner = [stage for stage in stages[1:] if isinstance(stage, ChannelStage)]
    check(what, "stages", stages, is_good=not inner, expected="a ChannelStage next to the socket")
