"""INFO and CONNECT of leaf nodes: the documents, checks, and the lines that are sent.

Source: nats-server `leafnode.go`, `leafConnectInfo`, `startLeafNodeAcceptLoop`,
`sendPermsAndAccountInfo`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec.structs import replace

from framework.peering import CODECS_MAX
from framework.wire.document import Document, Named, Secret, build_document, parse_document
from framework.wire.info import (
    TRACE_PROTOCOL,
    ServerInfo,
    SubjectPermission,
    check_names,
    connect_line,
    info_line,
    is_name,
    refused_document,
)
from framework.wire.version import NATS_VERSION, ROUTE_PROTOCOL
from framework_leafnode.limits import DENIED_MAX, URLS_MAX

if TYPE_CHECKING:
    from framework.peering import Choice
    from framework_leafnode.peer import Rights

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

    @property
    def traces(self) -> bool:
        """Tell whether the server reports what becomes of messages that ask for it."""
        return self.protocol >= TRACE_PROTOCOL


class LeafInfo(ServerInfo, frozen=True, kw_only=True):
    """INFO of a hub: who it is, and behind CONNECT which account was found, with which rights."""

    jetstream: bool = False
    ip: str = ""
    client_id: int = 0
    """Number of the connection; client and leaf node ports alone say it."""
    nonce: str = ""
    cluster: str = ""
    domain: str = ""
    compression: str = ""
    codecs: tuple[str, ...] = ()
    """As in INFO of routes: only servers like this one say so."""
    codec: str = ""
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
    ws_connect_urls: tuple[str, ...] = ()
    """The same for who comes by WebSocket."""
    gateway: str = ""
    ldm: bool = False


_INFO_NAMES = (
    "server_id",
    "server_name",
    "version",
    "host",
    "cluster",
    "domain",
    "remote_account",
    "compression",
    "codec",
)
_CONNECT_NAMES = (
    "version",
    "server_id",
    "name",
    "cluster",
    "domain",
    "gateway",
    "remote_account",
    "compress_mode",
)


def parse_info(document: bytes) -> LeafInfo:
    """Read an INFO; what may be shown or passed on is printable and short afterwards.

    Raises:
        ProtocolError: It is no INFO.
    """
    info = parse_document(LeafInfo, document)
    check_names(info, _INFO_NAMES)
    _check_cluster(info.cluster)
    urls = [url for url in info.leafnode_urls if is_name(url)]
    websocket_urls = [url for url in info.ws_connect_urls if is_name(url)]
    codecs = [name for name in info.codecs if is_name(name)]
    return replace(
        info,
        leafnode_urls=tuple(urls[:URLS_MAX]),
        ws_connect_urls=tuple(websocket_urls[:URLS_MAX]),
        codecs=tuple(codecs[:CODECS_MAX]),
    )


def parse_connect(document: bytes) -> LeafConnect:
    """Read a CONNECT; what may be shown is printable and short afterwards.

    Raises:
        ProtocolError: It is no CONNECT.
    """
    connect = parse_document(LeafConnect, document)
    check_names(connect, _CONNECT_NAMES)
    if len(connect.deny_pub) > DENIED_MAX:
        raise refused_document(f"deny_pub has more than {DENIED_MAX} subjects")
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


def compression_text(local: LeafInfo, choice: Choice, *, cid: int = 0, nonce: str = "") -> bytes:
    """Return the INFO that says which compression was chosen.

    Args:
        local: How this server introduces itself.
        choice: Of the connection.
        cid: Number of the connection, at the hub; a leaf node says none.
        nonce: Of the connection, at the hub.

    Source: nats-server `leafnode.go`, `negotiateLeafCompression`.
    """
    told = replace(
        local,
        client_id=cid,
        nonce=nonce,
        compression=choice.compression,
        codec=choice.codec_name,
    )
    return info_line(build_document(told))


def uncompressed_text(local: LeafInfo, *, cid: int, nonce: str) -> bytes:
    """Return the first INFO of a connection that is not to be compressed; as `compression_text`."""
    told = replace(local, client_id=cid, nonce=nonce, compression="", codecs=(), codec="")
    return info_line(build_document(told))


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
        raise refused_document("cluster name cannot contain spaces", is_told=True)
    if name == NO_CLUSTER:
        raise refused_document("cluster name is reserved", is_told=True)
