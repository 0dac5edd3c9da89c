"""INFO and CONNECT, of clients and of routes.

Every field is named as its JSON member unless Python keeps that word to itself.
Source: nats-server `server.go` `Info`, `client.go` `ClientOpts`, `route.go` `connectInfo`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping  # noqa: TC003 - documents read their annotations
from typing import Annotated, Final

from msgspec import field

from framework.errors import ProtocolError
from framework.wire.closed_state import ClosedState
from framework.wire.document import Always, Document, Named, Others, Secret
from framework.wire.version import CLIENT_PROTOCOL, NATS_VERSION, ROUTE_PROTOCOL

TRACE_PROTOCOL: Final = 3
"""Servers with this protocol, or a later one, report what becomes of messages that ask.

Source: nats-server `server.go`, `MsgTraceProto`.
"""
NAME_LENGTH_MAX: Final = 255
"""Characters of the names that servers say: IDs, hosts, clusters, accounts, URLs, codecs."""


class ClientConnect(Document, frozen=True, kw_only=True):
    """CONNECT of a client; what it leaves out is as nats-server takes it."""

    verbose: Always[bool] = True
    pedantic: Always[bool] = True
    echo: Always[bool] = True
    tls_required: Always[bool] = False
    protocol: Always[int] = 0
    """1: takes INFO at any time."""
    headers: bool = False
    no_responders: bool = False
    name: str = ""
    lang: str = ""
    version: str = ""
    account: str = ""
    user: str = ""
    password: Annotated[Secret[str], Named("pass")] = ""
    auth_token: Secret[str] = ""
    jwt: Secret[str] = ""
    nkey: str = ""
    sig: Secret[str] = ""


class ClientInfo(Document, frozen=True, kw_only=True):
    """INFO for clients; the plane adds `client_id` and `client_ip`."""

    server_id: Always[str] = ""
    server_name: Always[str] = ""
    version: Always[str] = NATS_VERSION
    proto: Always[int] = CLIENT_PROTOCOL
    git_commit: str = ""
    go: Always[str] = ""
    """nats-server's compiler; clients want the field to be there."""
    host: Always[str] = ""
    port: Always[int] = 0
    headers: Always[bool] = True
    auth_required: bool = False
    tls_required: bool = False
    tls_verify: bool = False
    tls_available: bool = False
    max_payload: Always[int] = 0
    jetstream: bool = False
    nonce: str = ""
    cluster: str = ""
    cluster_dynamic: bool = False
    domain: str = ""
    connect_urls: tuple[str, ...] = ()
    """`host:port` of all servers of the cluster, this one first."""
    ws_connect_urls: tuple[str, ...] = ()
    ldm: bool = False
    """Lame duck mode: go elsewhere."""
    connect_info: bool = False
    """It tells a client that has logged in which account that is."""
    remote_account: str = ""
    acc_is_sys: bool = False
    api_lvl: int = 0
    """The JetStream API that the server knows, whether it has it turned on or not."""
    xkey: str = ""
    """Public curve key of the server, for answers of an auth callout."""


class SubjectPermission(Document, frozen=True, kw_only=True):
    """Subjects that may or may not cross a route."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


class RouteConnect(Document, frozen=True, kw_only=True):
    """CONNECT of a server that dialed a route."""

    echo: Always[bool] = True
    verbose: Always[bool] = False
    pedantic: Always[bool] = False
    user: str = ""
    password: Annotated[Secret[str], Named("pass")] = ""
    tls_required: Always[bool] = False
    headers: Always[bool] = False
    name: Always[str] = ""
    """Server ID of who dialed."""
    cluster: Always[str] = ""
    cluster_dynamic: bool = False
    """The cluster's name was generated and gives way to a configured one."""
    lnoc: bool = False
    """Knows LS+ and LS-, the interest that came from leafnodes."""
    lnocu: bool = False
    """Takes the origin in LS- too."""
    gateway: str = ""
    lang: str = ""
    """Only clients say a language: one has lost its way."""


class ServerInfo(Document, frozen=True, kw_only=True):
    """What every INFO between servers has, whatever links them."""

    server_id: Always[str] = ""
    server_name: Always[str] = ""
    version: Always[str] = NATS_VERSION
    proto: Always[int] = ROUTE_PROTOCOL
    go: Always[str] = ""
    host: Always[str] = ""
    port: Always[int] = 0
    headers: Always[bool] = False
    auth_required: bool = False
    tls_required: bool = False
    tls_verify: bool = False
    max_payload: Always[int] = 0

    @property
    def traces(self) -> bool:
        """Tell whether the server reports what becomes of messages that ask for it."""
        return self.proto >= TRACE_PROTOCOL


class RouteInfo(ServerInfo, frozen=True, kw_only=True):
    """INFO between servers of a cluster: who speaks, and gossip about others."""

    jetstream: bool = False
    ip: str = ""
    """`nats-route://host:port/` under which others reach this server."""
    nonce: str = ""
    cluster: str = ""
    cluster_dynamic: bool = False
    domain: str = ""
    connect_urls: tuple[str, ...] = ()
    ldm: bool = False
    compression: str = ""
    """Compression wanted or chosen, in nats-server's own words; empty: the peer has none."""
    codecs: tuple[str, ...] = ()
    """Names of the codecs that the peer can use besides; only servers like this one say so."""
    codec: str = ""
    """The one of them that the peer wants to encode with, or has chosen."""
    import_: Annotated[SubjectPermission | None, Named("import")] = None
    export: SubjectPermission | None = None
    lnoc: bool = False
    lnocu: bool = False
    info_on_connect: bool = False
    """The INFO of the solicitor follows its CONNECT without waiting."""
    route_pool_size: int = 0
    """Connections wanted per pair; 0: the peer is older than pools, or wants none."""
    pool_shared: bool = False
    """Accounts are assigned by the larger of both pools; only servers like this one say so."""
    route_pool_agreed: int = 0
    """What the solicitor makes of both sizes; 0: one connection. Who was reloaded sees by it that
    the other still goes by what it said before. Only servers like this one say so."""
    route_pool_idx: int = 0
    route_account: str = ""
    """The one account that this connection carries."""
    route_acc_add_reqid: str = ""
    gossip_mode: int = 0
    """0: default, 1: don't pass on, 2: pass on even if implicit."""
    gateway: str = ""
    client_id: int = 0
    """Only client ports say it: we have lost our way."""
    xkey: str = ""
    others: Others[Mapping[str, object]] = field(default_factory=dict)
    """Members of others than routes, such as plugins."""


def is_name(value: str) -> bool:
    """Tell whether a text of another server may be shown, or passed on."""
    return len(value) <= NAME_LENGTH_MAX and value.isprintable()


def check_names(document: Document, names: Iterable[str]) -> None:
    """Refuse a document of another server with fields that may not be shown, or passed on.

    Args:
        document: As it was read.
        names: Of these fields.

    Raises:
        ProtocolError: One is too long, or not printable.
    """
    for name in names:
        if not is_name(getattr(document, name)):
            raise refused_document(f"{name} is too long or not printable")


def refused_document(problem: str, *, is_told: bool = False) -> ProtocolError:
    """Return the error of a document that makes no sense.

    Args:
        problem: For the log.
        is_told: The other server hears it as well; else that it could not be read.
    """
    text = problem if is_told else "Parser Error"
    return ProtocolError(problem, text=text, reason=ClosedState.PROTOCOL_VIOLATION)


def info_line(document: bytes) -> bytes:
    """Return the protocol line INFO with `document`; nats-server has a blank before its end."""
    return b"INFO " + document + b" \r\n"


def connect_line(document: bytes) -> bytes:
    """Return the protocol line CONNECT with `document`."""
    return b"CONNECT " + document + b"\r\n"
