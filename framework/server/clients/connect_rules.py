"""Checks of a client's CONNECT that do not depend on its credentials."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.errors import ProtocolError
from framework.spec import ClosedState
from framework.wire.version import CLIENT_PROTOCOL

if TYPE_CHECKING:
    from framework.wire.info import ClientConnect


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
