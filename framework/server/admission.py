"""What a client may do once it is in: the least of what server, account and user allow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from framework.spec import UNLIMITED

if TYPE_CHECKING:
    from framework.spec import Accepted, AccountSpec, Permissions


@dataclass(frozen=True, slots=True)
class Admission:
    """What the data plane is told of a client."""

    permissions: Permissions | None
    """None: all."""
    max_subscriptions: int
    max_payload: int
    """-1: no other limit than the server's."""
    expires_s: float
    """Unix time at which it ends; 0: never."""


def admission_of(accepted: Accepted | None, account: AccountSpec) -> Admission:
    """Return what a client may do.

    Args:
        accepted: What its authenticator said; None: nobody had to be asked.
        account: That it is in.

    Source: nats-server `client.go`, `applyAccountLimits`, `registerUser`.
    """
    own = accepted.limits if accepted else None
    limits = account.limits
    permissions = accepted.permissions if accepted else None
    return Admission(
        permissions=account.default_permissions if permissions is None else permissions,
        max_subscriptions=_least(limits.max_subscriptions, own.max_subscriptions if own else -1),
        max_payload=_least(limits.max_payload, own.max_payload if own else -1),
        expires_s=_first(accepted.expires_s if accepted else 0.0, account.expires_s),
    )


def _least(*limits: int) -> int:
    return min((limit for limit in limits if limit >= 0), default=UNLIMITED)


def _first(*times_s: float) -> float:
    return min((at_s for at_s in times_s if at_s), default=0.0)
