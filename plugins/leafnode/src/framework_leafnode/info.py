"""INFO and CONNECT of leaf nodes: the documents, checks, and the lines that are sent.

Source: nats-server `leafnode.go`, `leafConnectInfo`, `startLeafNodeAcceptLoop`,
`sendPermsAndAccountInfo`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec.structs import replace

from framework.errors import ProtocolError
from framework.wire.closed_state import ClosedState
from framework.wire.document import Always, Document, Named, Secret, build_document, parse_document
from framework.wire.info import SubjectPermission, connect_line, info_line
from framework.wire.version import NATS_VERSION, ROUTE_PROTOCOL
from framework_leafnode.limits import DENIED_MAX, NAME_LENGTH_MAX, URLS_MAX

if TYPE_CHECKING:
    from framework_leafnode.peer import Rights

TRACE_PROTOCOL = 3
"""Servers with this protocol, or a later one, report what becomes of messages that ask.

Source: nats-server `server.go`, `MsgTraceProto`.
"""
NO_CLUSTER = "_"
"""Stands for no cluster on routes, so none may be called that."""


class LeafConnect(Document, frozen=True, kw_only=True):
    """CONNECT of a server that dialed a hub."""

    version: str = NATS_VERSION
    nkey: str = ""
    jwt: Secret[str] = ""
    sig: Secret[str] = ""
    user: str = ""
    password: Annotated[Secret[str], Named("pass")] = ""
    auth_token: Secret[str] = ""
    server_id: str = ""
    domain: str = ""
    """Of its JetStream."""
    name: str = ""
    is_hub: bool = False
    """The roles are the other way round: who dialed is the hub."""
    cluster: str = ""
    headers: bool = False
    jetstream: bool = False
    deny_pub: tuple[str, ...] = ()
    """What it does not want to be sent: its `deny_imports`."""
    isolate: bool = False
    """It is not to be told the interest of other leaf nodes."""
    compress_mode: str = ""
    gateway: str = ""
    """Only gateways say one: this one has lost its way."""
    remote_account: str = ""
    """The account there that is bound to ours."""
    protocol: int = ROUTE_PROTOCOL
    lang: str = ""
    """Only clients say a language."""


class LeafInfo(Document, frozen=True, kw_only=True):
    """INFO of a hub: who it is, and behind CONNECT which account was found, with which rights."""

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
    jetstream: bool = False
    ip: str = ""
    client_id: int = 0
    """Number of the connection; client and leaf node ports alone say it."""
    nonce: str = ""
    cluster: str = ""
    domain: str = ""
    compression: str = ""
    import_: Annotated[SubjectPermission | None, Named("import")] = None
    """What the leaf node may subscribe to at the hub."""
    export: SubjectPermission | None = None
    """What it may publish there."""
    info_on_connect: bool = False
    """A second INFO follows CONNECT."""
    connect_info: bool = False
    """This is the second one."""
    remote_account: str = ""
    acc_is_sys: bool = False
    leafnode_urls: tuple[str, ...] = ()
    """`host:port` of all servers of the cluster."""
    gateway: str = ""
    ldm: bool = False


_INFO_NAMES = ("server_id", "server_name", "version", "host", "cluster", "domain", "remote_account")
_CONNECT_NAMES = ("version", "server_id", "name", "cluster", "domain", "gateway", "remote_account")


def parse_info(document: bytes) -> LeafInfo:
    """Read an INFO; what may be shown or passed on is printable and short afterwards.

    Raises:
        ProtocolError: It is no INFO.
    """
    info = parse_document(LeafInfo, document)
    for name in _INFO_NAMES:
        _check_name(name, getattr(info, name))
    _check_cluster(info.cluster)
    urls = [url for url in info.leafnode_urls if _is_name(url)]
    return replace(info, leafnode_urls=tuple(urls[:URLS_MAX]))


def parse_connect(document: bytes) -> LeafConnect:
    """Read a CONNECT; what may be shown is printable and short afterwards.

    Raises:
        ProtocolError: It is no CONNECT.
    """
    connect = parse_document(LeafConnect, document)
    for name in _CONNECT_NAMES:
        _check_name(name, getattr(connect, name))
    if len(connect.deny_pub) > DENIED_MAX:
        raise _refused(f"deny_pub has more than {DENIED_MAX} subjects")
    return connect


def check_cluster_of(connect: LeafConnect) -> None:
    """Refuse a cluster that can't be; to be called when the leaf node has logged in.

    Raises:
        ProtocolError: It has blanks, or is reserved.
    """
    _check_cluster(connect.cluster)


def connect_text(connect: LeafConnect) -> bytes:
    """Return the line CONNECT."""
    return connect_line(build_document(connect))


def welcome(local: LeafInfo, rights: Rights, *, cid: int) -> bytes:
    """Return what a hub says behind CONNECT: the account, and what may cross.

    Args:
        local: How this server introduces itself.
        rights: What was found out.
        cid: Number of the connection.
    """
    told = replace(
        local,
        client_id=cid,
        import_=rights.may_subscribe,
        export=rights.may_publish,
        remote_account=rights.account,
        acc_is_sys=rights.is_system,
        connect_info=True,
    )
    return info_line(build_document(told))


def _check_cluster(name: str) -> None:
    if " " in name:
        raise _refused("cluster name cannot contain spaces", is_told=True)
    if name == NO_CLUSTER:
        raise _refused("cluster name is reserved", is_told=True)


def _check_name(name: str, value: str) -> None:
    if not _is_name(value):
        raise _refused(f"{name} is too long or not printable")


def _is_name(value: str) -> bool:
    return len(value) <= NAME_LENGTH_MAX and value.isprintable()


def _refused(problem: str, *, is_told: bool = False) -> ProtocolError:
    text = problem if is_told else "Parser Error"
    return ProtocolError(problem, text=text, reason=ClosedState.PROTOCOL_VIOLATION)
