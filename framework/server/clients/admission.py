"""Permissions and limits of a client: the least of what server, account and user allow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from framework.spec import UNLIMITED, ClientIdentity

if TYPE_CHECKING:
    from framework.server.clients.client_row import Client
    from framework.spec import Accepted, AccountSpec, Permissions


class Admission(Struct, frozen=True):
    """Permissions, limits and account of a client, as the data plane takes them."""

    permissions: Permissions | None
    """None: all."""
    max_subscriptions: int
    max_payload: int
    """-1: no other limit than the server's."""
    expires_s: float
    """Unix time at which it ends; 0: never."""


def admission_of(accepted: Accepted | None, account: AccountSpec) -> Admission:
    """Return the permissions and limits of a client.

    Args:
        accepted: What its authenticator said; None: nobody had to be asked.
        account: That it is in.

    Source: nats-server `client.go`, `applyAccountLimits`, `registerUser`.
    """
    limits = account.limits
    if accepted is None:
        return Admission(
            account.default_permissions,
            limits.max_subscriptions,
            limits.max_payload,
            account.expires_s,
        )
    own, permissions = accepted.limits, accepted.permissions
    return Admission(
        account.default_permissions if permissions is None else permissions,
        _least(limits.max_subscriptions, own.max_subscriptions if own else UNLIMITED),
        _least(limits.max_payload, own.max_payload if own else UNLIMITED),
        _first(account.expires_s, accepted.expires_s),
    )


def identity_of(
    client: Client, accepted: Accepted | None, account: str, admission: Admission
) -> ClientIdentity:
    """Return the identity of a client for monitoring.

    Args:
        client: Its CONNECT is without secrets.
        accepted: As in `admission_of`.
        account: Name of the one that it is in.
        admission: What it may do.
    """
    assert client.connect
    return ClientIdentity(
        account=account,
        user=client.connect.user,
        name_tag=accepted.name_tag if accepted else "",
        nkey=client.connect.nkey,
        jwt=accepted.jwt if accepted else "",
        issuer_key=accepted.issuer if accepted else "",
        tags=accepted.tags if accepted else (),
        tls=client.tls,
        connection_type=client.connection_type,
        permissions=admission.permissions,
        expires_s=admission.expires_s,
    )


def _least(one: int, other: int) -> int:
    if one < 0 or other < 0:
        return max(one, other)
    return min(one, other)


def _first(one_s: float, other_s: float) -> float:
    if not one_s or not other_s:
        return one_s or other_s
    return min(one_s, other_s)
