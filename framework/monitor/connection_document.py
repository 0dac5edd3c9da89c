"""One client connection, as `/connz` shows it.

Source: nats-server `monitor.go`, `fill` and the part of `Connz` behind it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from framework.monitor.claim import is_bearer
from framework.spec import GLOBAL_ACCOUNT
from framework.spec.formats import rtt_text, time_text, uptime_text
from framework.spec.rows import SubscriptionRows
from framework.wire.certificates import facts_from_der

if TYPE_CHECKING:
    from framework.monitor.source import ClosedClient, MonitorSource
    from framework.spec import ClientIdentity, LinkRow
    from framework.wire.info import ClientConnect

_TYPES: Final = {"WEBSOCKET": "websocket", "MQTT": "mqtt", "MQTT_WS": "mqtt"}
"""By connection type; all others are `nats`."""


class Connection(Struct, frozen=True):
    """A connection before it is formatted."""

    row: LinkRow
    connect: ClientConnect | None
    """What it said of itself; None before it did."""
    identity: ClientIdentity | None
    """Who it is; None before it was let in."""
    closed: ClosedClient | None = None
    """None: it is open."""

    @property
    def account(self) -> str:
        """Where it is; who is not let in yet waits in the global account, as in nats-server."""
        return self.identity.account if self.identity else GLOBAL_ACCOUNT

    @property
    def user(self) -> str:
        """Who logged in, or wanted to."""
        if self.identity:
            return self.identity.user
        return self.connect.user if self.connect else ""


class Wanted(Struct, frozen=True, kw_only=True):
    """Options of `/connz` that add fields: subscriptions, authentication."""

    auth: bool
    subs: bool
    details: bool
    """Of its subscriptions; then `subs` does not count."""


def connection_document(
    source: MonitorSource,
    connection: Connection,
    wanted: Wanted,
    now_ns: int,
) -> dict[str, object]:
    """Return a connection, its fields in the order of nats-server."""
    document = {**_figures(source, connection, now_ns), **_told(connection)}
    document |= _tls(connection, with_certificates=wanted.auth)
    if wanted.auth:
        document |= _login(connection)
    if connection.row.subscriptions and not connection.closed:
        slices = source.list_subscriptions(link=connection.row.link)
        if wanted.details:
            document["subscriptions_list_detail"] = SubscriptionRows.details(slices)
        elif wanted.subs:
            document["subscriptions_list"] = SubscriptionRows.subjects(slices)
    if wanted.auth:
        document |= _origin(source, connection)
    return document


def _figures(source: MonitorSource, connection: Connection, now_ns: int) -> dict[str, object]:
    row, closed, identity = connection.row, connection.closed, connection.identity
    until_ns = closed.closed_ns if closed else now_ns
    document: dict[str, object] = {
        "cid": row.cid,
        "kind": row.kind.names.title,
        "type": _TYPES.get(identity.connection_type, "nats") if identity else "nats",
        "ip": row.host,
        "port": row.port,
        "start": time_text(source.wall_ns(row.opened_ns)),
        "last_activity": time_text(source.wall_ns(row.last_activity_ns)),
    }
    if closed:
        document["stop"] = time_text(source.wall_ns(closed.closed_ns))
        document["reason"] = closed.reason.text
    document |= {
        "rtt": rtt_text(row.rtt_ns),
        "uptime": uptime_text(until_ns - row.opened_ns),
        "idle": uptime_text(until_ns - row.last_activity_ns),
        "pending_bytes": row.pending_bytes,
        "in_msgs": row.in_msgs,
        "out_msgs": row.out_msgs,
        "in_bytes": row.in_bytes,
        "out_bytes": row.out_bytes,
    }
    if row.stalls:
        document["stalls"] = row.stalls
    return {**document, "subscriptions": row.subscriptions}


def _told(connection: Connection) -> dict[str, object]:
    connect = connection.connect
    if connect is None:
        return {}
    return _without_empty(name=connect.name, lang=connect.lang, version=connect.version)


def _tls(connection: Connection, *, with_certificates: bool) -> dict[str, object]:
    tls = connection.identity.tls if connection.identity else None
    if tls is None:
        return {}
    return _without_empty(
        tls_version=tls.version,
        tls_cipher_suite=tls.cipher,
        tls_peer_certs=[_certificate(der) for der in tls.certificates if with_certificates],
        tls_first=tls.is_first,
    )


def _certificate(der: bytes) -> dict[str, object]:
    facts = facts_from_der(der)
    return _without_empty(
        subject=facts.subject, spki_sha256=facts.spki_sha256, cert_sha256=facts.cert_sha256
    )


def _login(connection: Connection) -> dict[str, object]:
    account = connection.account
    return _without_empty(
        authorized_user=connection.user, account="" if account == GLOBAL_ACCOUNT else account
    )


def _origin(source: MonitorSource, connection: Connection) -> dict[str, object]:
    """Return who vouches for the user; a JWT that is enough to log in with stays secret."""
    identity, account = connection.identity, connection.account
    is_shown = not connection.closed or account != GLOBAL_ACCOUNT
    tag = (spec.name_tag if (spec := source.accounts.get(account)) else "") or account
    named: dict[str, object] = {"name_tag": tag} if is_shown else {}
    if identity is None:
        return named
    jwt = "" if is_bearer(identity.jwt) else identity.jwt
    before = _without_empty(jwt=jwt, issuer_key=identity.issuer_key)
    return {**before, **named, **_without_empty(tags=list(identity.tags))}


def _without_empty(**fields: object) -> dict[str, object]:
    return {name: value for name, value in fields.items() if value}
