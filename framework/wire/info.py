"""INFO and CONNECT, of clients and of routes.

Every field is named as its JSON member unless Python keeps that word to itself.
Source: nats-server `server.go` `Info`, `client.go` `ClientOpts`, `route.go` `connectInfo`.
"""

from __future__ import annotations

from dataclasses import dataclass

from framework.wire.document import member
from framework.wire.version import CLIENT_PROTOCOL, NATS_VERSION, ROUTE_PROTOCOL


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConnect:
    """CONNECT of a client; what it leaves out is as nats-server takes it."""

    verbose: bool = member(True, always=True)
    pedantic: bool = member(True, always=True)
    echo: bool = member(True, always=True)
    tls_required: bool = member(False, always=True)
    protocol: int = member(0, always=True)
    """1: takes INFO at any time."""
    headers: bool = member(False)
    no_responders: bool = member(False)
    name: str = member("")
    lang: str = member("")
    version: str = member("")
    account: str = member("")
    user: str = member("")
    password: str = member("", name="pass")
    auth_token: str = member("")
    jwt: str = member("")
    nkey: str = member("")
    sig: str = member("")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientInfo:
    """INFO for clients; the plane adds `client_id` and `client_ip`."""

    server_id: str = member("", always=True)
    server_name: str = member("", always=True)
    version: str = member(NATS_VERSION, always=True)
    proto: int = member(CLIENT_PROTOCOL, always=True)
    git_commit: str = member("")
    go: str = member("", always=True)
    """nats-server's compiler; clients want the field to be there."""
    host: str = member("", always=True)
    port: int = member(0, always=True)
    headers: bool = member(True, always=True)
    auth_required: bool = member(False)
    tls_required: bool = member(False)
    tls_verify: bool = member(False)
    tls_available: bool = member(False)
    max_payload: int = member(0, always=True)
    jetstream: bool = member(False)
    nonce: str = member("")
    cluster: str = member("")
    cluster_dynamic: bool = member(False)
    domain: str = member("")
    connect_urls: tuple[str, ...] = member(())
    """`host:port` of all servers of the cluster, this one first."""
    ws_connect_urls: tuple[str, ...] = member(())
    ldm: bool = member(False)
    """Lame duck mode: go elsewhere."""
    xkey: str = member("")


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectPermission:
    """Subjects that may or may not cross a route."""

    allow: tuple[str, ...] = member(())
    deny: tuple[str, ...] = member(())


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteConnect:
    """CONNECT of a server that dialed a route."""

    echo: bool = member(True, always=True)
    verbose: bool = member(False, always=True)
    pedantic: bool = member(False, always=True)
    user: str = member("")
    password: str = member("", name="pass")
    tls_required: bool = member(False, always=True)
    headers: bool = member(False, always=True)
    name: str = member("", always=True)
    """Server ID of who dialed."""
    cluster: str = member("", always=True)
    cluster_dynamic: bool = member(False)
    """The cluster's name was generated and gives way to a configured one."""
    lnoc: bool = member(False)
    """Knows LS+ and LS-, the interest that came from leafnodes."""
    lnocu: bool = member(False)
    """Takes the origin in LS- too."""
    gateway: str = member("")
    lang: str = member("")
    """Only clients say a language: one has lost its way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteInfo:
    """INFO between servers of a cluster: who speaks, and gossip about others."""

    server_id: str = member("", always=True)
    server_name: str = member("", always=True)
    version: str = member(NATS_VERSION, always=True)
    proto: int = member(ROUTE_PROTOCOL, always=True)
    go: str = member("", always=True)
    host: str = member("", always=True)
    port: int = member(0, always=True)
    headers: bool = member(False, always=True)
    auth_required: bool = member(False)
    tls_required: bool = member(False)
    tls_verify: bool = member(False)
    max_payload: int = member(0, always=True)
    jetstream: bool = member(False)
    ip: str = member("")
    """`nats-route://host:port/` under which others reach this server."""
    nonce: str = member("")
    cluster: str = member("")
    cluster_dynamic: bool = member(False)
    domain: str = member("")
    connect_urls: tuple[str, ...] = member(())
    ws_connect_urls: tuple[str, ...] = member(())
    ldm: bool = member(False)
    compression: str = member("")
    import_: SubjectPermission | None = member(None, name="import")  # noqa: RUF009 - a field
    export: SubjectPermission | None = member(None)  # noqa: RUF009 - a field
    lnoc: bool = member(False)
    lnocu: bool = member(False)
    info_on_connect: bool = member(False)
    """The INFO of the solicitor follows its CONNECT without waiting."""
    route_pool_size: int = member(0)
    """Connections wanted per pair; 0: the peer is older than pools, or wants none."""
    route_pool_idx: int = member(0)
    route_account: str = member("")
    """The one account that this connection carries."""
    route_acc_add_reqid: str = member("")
    gossip_mode: int = member(0)
    """0: default, 1: don't pass on, 2: pass on even if implicit."""
    gateway: str = member("")
    gateway_url: str = member("")
    leafnode_urls: tuple[str, ...] = member(())
    xkey: str = member("")


def info_line(document: bytes) -> bytes:
    """Return the protocol line INFO with `document`; nats-server has a blank before its end."""
    return b"INFO " + document + b" \r\n"


def connect_line(document: bytes) -> bytes:
    """Return the protocol line CONNECT with `document`."""
    return b"CONNECT " + document + b"\r\n"
