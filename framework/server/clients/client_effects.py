"""Effects of the client table, as data for its actor.

They are performed and gone, and nothing refers to them: the garbage collector need not know them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from msgspec import Struct

from framework.server.clients.logins import Question

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework.server.clients.client_notices import ClientSeen
    from framework.server.clients.client_row import Client
    from framework.spec import (
        Accepted,
        Authenticator,
        Closed,
        ClosedState,
        LinkId,
        LoginRequest,
        Permissions,
        Refused,
        Traced,
        Violated,
    )
    from framework.wire.info import ClientConnect


class Close(Struct, frozen=True, gc=False):
    """End a connection."""

    link: LinkId
    reason: ClosedState
    last_words: bytes = b""


class Identify(Struct, frozen=True, gc=False):
    """Tell the plane who a client is, for services of other accounts, and put it under quotas."""

    client: Client


class Rights(Struct, frozen=True, gc=False):
    """What a client may do, beside its `limits`."""

    permissions: Permissions | None
    """None: all."""
    are_new: bool
    """Other ones than it had: they need a number in the plane."""


class Resume(Struct, frozen=True, gc=False):
    """Read on from a client that was let in."""

    client: Client
    connect: ClientConnect
    rights: Rights


class Update(Struct, frozen=True, gc=False):
    """Put other rights in force, unless they come to the same."""

    client: Client
    rights: Rights
    has_new_limits: bool


class Began(Struct, frozen=True, gc=False):
    """Tell of a client that logged in."""

    seen: ClientSeen


class Ended(Struct, frozen=True, gc=False):
    """Tell of a client that has gone, and release what it had."""

    client: Client
    closed: Closed


class Recheck(Struct, frozen=True, gc=False):
    """Ask whether a client would be let in today, and pass the answer on at once."""

    client: Client
    authenticator: Authenticator
    request: LoginRequest
    accepted: Accepted


class Noted(Struct, frozen=True, gc=False):
    """Write a line to the log."""

    level: Literal["error", "info"]
    event: str
    fields: Mapping[str, object]


class RefusalNoted(Struct, frozen=True, gc=False):
    """Write to the log that a login was refused."""

    client: Client
    connect: ClientConnect
    refused: Refused


class Reported(Struct, frozen=True, gc=False):
    """Write to the log what the plane has reported of a client."""

    client: Client
    event: Violated | Traced


SAME_OF_ALL: Final = Rights(None, are_new=False)
"""All permissions, as before: what most clients have."""

ClientEffect: TypeAlias = (
    Close
    | Identify
    | Resume
    | Update
    | Began
    | Ended
    | Question
    | Recheck
    | Noted
    | RefusalNoted
    | Reported
)


def take(effects: list[ClientEffect]) -> list[ClientEffect]:
    """Return what is to be done, and forget it."""
    taken = effects[:]
    effects.clear()
    return taken
