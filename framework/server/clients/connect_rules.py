"""Checks of a client's CONNECT that do not depend on its credentials."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from framework.errors import ProtocolError
from framework.spec import ClosedState, Credentials
from framework.wire.version import CLIENT_PROTOCOL

if TYPE_CHECKING:
    from framework.wire.info import ClientConnect

_NONE: Final = Credentials()


def with_credentials(connect: ClientConnect, credentials: Credentials) -> ClientConnect:
    """Return a CONNECT with what a handshake knew, where it says nothing of that itself.

    Source: nats-server `client.go`, `processConnect`.
    """
    if credentials == _NONE:
        return connect
    return replace(
        connect,
        user=connect.user or credentials.user,
        password=connect.password or credentials.password,
        auth_token=connect.auth_token or credentials.auth_token,
        jwt=connect.jwt or credentials.jwt,
    )


def check_connect(connect: ClientConnect, *, headers: bool) -> None:
    """Check a CONNECT.

    Args:
        connect: As it came.
        headers: Whether the server has them.

    Raises:
        ProtocolError: The client has to go.

    Source: nats-server `client.go`, `processConnect`.
    """
    if connect.account:
        raise ProtocolError(
            "authentication error",
            text="Authorization Violation",
            reason=ClosedState.AUTHENTICATION_VIOLATION,
        )
    if not 0 <= connect.protocol <= CLIENT_PROTOCOL:
        raise ProtocolError(
            "invalid client protocol",
            text="invalid client protocol",
            reason=ClosedState.BAD_CLIENT_PROTOCOL_VERSION,
        )
    if connect.no_responders and not (headers and connect.headers):
        raise ProtocolError(
            "no responders requires headers support",
            text="no responders requires headers support",
            reason=ClosedState.NO_RESPONDERS_REQUIRES_HEADERS,
        )
