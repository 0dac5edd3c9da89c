"""INFO and CONNECT of gateways: the documents, checks, and the lines that are sent."""

from __future__ import annotations

from base64 import b64decode
from typing import TYPE_CHECKING, Annotated

from msgspec.structs import replace

from framework.peering import CODECS_MAX
from framework.wire.document import Always, Document, Named, Secret, build_document, parse_document
from framework.wire.info import ServerInfo, check_names, connect_line, info_line, is_name
from framework_gateway.limits import URLS_MAX

if TYPE_CHECKING:
    from collections.abc import Sequence

    from framework.peering import Choice, PeerUrl

GOSSIP = 1
"""`gateway_cmd`: of another cluster."""
ALL_INTEREST_BEGINS = 2
"""`gateway_cmd`: what follows is all interest in an account, and counts from now on."""
ALL_INTEREST_TOLD = 3
"""`gateway_cmd`: from now on nothing is wanted but what was told."""


class GatewayConnect(Document, frozen=True, kw_only=True):
    """CONNECT of a server that dialed a gateway."""

    echo: Always[bool] = False
    verbose: Always[bool] = False
    pedantic: Always[bool] = False
    user: str = ""
    password: Annotated[Secret[str], Named("pass")] = ""
    tls_required: Always[bool] = False
    headers: Always[bool] = False
    name: Always[str] = ""
    """Server ID of who dialed."""
    cluster: Always[str] = ""
    gateway: str = ""
    """Its cluster; empty: it is no gateway."""


class GatewayInfo(ServerInfo, frozen=True, kw_only=True):
    """INFO between clusters: who speaks, gossip about others, and marks in what is told."""

    gateway: str = ""
    """Name of a cluster; empty: who speaks is no gateway."""
    gateway_urls: tuple[str, ...] = ()
    """`host:port` of all servers of the cluster."""
    gateway_url: str = ""
    """Of this server."""
    compression: str = ""
    """As in INFO of routes: only servers like this one say so."""
    codecs: tuple[str, ...] = ()
    codec: str = ""
    gateway_cmd: int = 0
    gateway_cmd_payload: str = ""
    """An account in base64."""
    gateway_nrp: bool = False
    """Knows replies with the prefix `_GR_.`."""
    gateway_iom: bool = False
    """Tells all its interest from the beginning, and wants nothing else."""

    @property
    def account(self) -> str:
        """Return the account that a command is about; empty: it names none."""
        try:
            return b64decode(self.gateway_cmd_payload, validate=True).decode()
        except ValueError:
            return ""


_NAMES = (
    "server_id",
    "server_name",
    "version",
    "host",
    "gateway",
    "gateway_url",
    "compression",
    "codec",
)


def parse_info(document: bytes) -> GatewayInfo:
    """Read an INFO; what may be shown or passed on is printable and short afterwards.

    Raises:
        ProtocolError: It is no INFO.
    """
    info = parse_document(GatewayInfo, document)
    check_names(info, _NAMES)
    urls = [url for url in info.gateway_urls if is_name(url)]
    codecs = [name for name in info.codecs if is_name(name)]
    return replace(info, gateway_urls=tuple(urls[:URLS_MAX]), codecs=tuple(codecs[:CODECS_MAX]))


def parse_connect(document: bytes) -> GatewayConnect:
    """Read a CONNECT; what may be shown is printable and short afterwards.

    Raises:
        ProtocolError: It is no CONNECT.
    """
    connect = parse_document(GatewayConnect, document)
    check_names(connect, ("name", "gateway"))
    return connect


def greeting(local: GatewayInfo, url: PeerUrl, *, is_encrypted: bool) -> bytes:
    """Return what this server says to the one that it dialed: CONNECT and INFO."""
    connect = GatewayConnect(
        user=url.user,
        password=url.password,
        tls_required=is_encrypted,
        name=local.server_id,
        gateway=local.gateway,
    )
    return connect_line(build_document(connect)) + introduction(local)


def introduction(local: GatewayInfo) -> bytes:
    """Return the INFO of this server."""
    return info_line(build_document(local))


def chosen(local: GatewayInfo, choice: Choice) -> GatewayInfo:
    """Return an INFO that says which compression was agreed on."""
    return replace(local, compression=choice.compression, codec=choice.codec_name)


def gossip(server_id: str, gateway: str, urls: Sequence[str]) -> bytes:
    """Return the line that tells of another cluster."""
    told = GatewayInfo(
        server_id=server_id,
        version="",
        proto=0,
        gateway=gateway,
        gateway_urls=tuple(urls),
        gateway_cmd=GOSSIP,
    )
    return info_line(build_document(told))
