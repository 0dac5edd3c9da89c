"""Who decides which clients may log in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework.actors import Reply
    from framework.dataplane.link import LinkKind
    from framework.wire.info import ClientConnect


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginRequest:
    """A connection that wants to log in, and what it gives for it."""

    kind: LinkKind
    cid: int
    """Counts connections of all kinds from 1."""
    host: str
    port: int
    connect: ClientConnect
    """As the client sent it; its secrets are not in its `repr`, and belong into no log."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """Answer: the connection may begin."""

    user: str
    """Who it is, for monitoring and logs; no secret."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Answer: the connection ends."""

    detail: str = ""
    """Why, for the log; the client is not told. No secret; empty when there is no more to say."""


LoginAnswer: TypeAlias = Accepted | Refused | None
"""None: the next authenticator decides; after the last one, the connection is refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Authenticator:
    """One way to log in."""

    name: str
    """Unique in the server; for the log."""
    authenticate: Callable[[LoginRequest], Reply[LoginAnswer]]
    """Called in the control loop, once for each CONNECT of a client, and must not block.

    The reply may be set before it is returned, or later from any thread. Who raises, or answers
    with something else, has refused; who never answers has refused when the time is over.
    """
    timeout_s: float = 2.0
    """From the connection to the answer; of several authenticators, the longest counts."""

    def __post_init__(self) -> None:
        assert self.timeout_s > 0
