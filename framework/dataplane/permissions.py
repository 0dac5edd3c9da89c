"""Permissions of clients: what they may publish and subscribe to."""

from __future__ import annotations

from msgspec import Struct, field


class SubjectRules(Struct, frozen=True, kw_only=True):
    """Which subjects are allowed; a denied one is not, whatever allows it.

    Subjects may have wildcards. In rules for subscriptions, `orders.* workers` is about members of
    the queue group `workers`; the group may have wildcards too. Source: nats-server `auth.go`,
    `SubjectPermission`; `client.go`, `setPermissions`, `canSubscribe`.
    """

    allow: tuple[str, ...] = ()
    """Empty: all subjects."""
    deny: tuple[str, ...] = ()


class ResponsePermission(Struct, frozen=True, kw_only=True):
    """A client may publish to the reply subjects of what it gets. Source: `auth.go`."""

    max_msgs: int = 1
    """Answers to one request; -1: as many as it likes; 0: as many as by default."""
    expires_s: float = 120.0
    """After the request; negative: never; 0: as by default."""


DEFAULT_ANSWERS = ResponsePermission()
"""What zeros stand for. Source: nats-server `auth.go`, `validateResponsePermissions`."""


class Permissions(Struct, frozen=True, kw_only=True):
    """Of one client; equal ones share a table in the plane."""

    publish: SubjectRules = field(default_factory=SubjectRules)
    subscribe: SubjectRules = field(default_factory=SubjectRules)
    responses: ResponsePermission | None = None
    """With it, an empty `publish.allow` allows nothing but answers."""
