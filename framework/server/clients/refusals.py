"""Log lines of failed logins."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

    from framework.server.clients.client_row import Client
    from framework.spec import Refused
    from framework.wire.info import ClientConnect

FAILED: Final = "Authenticator {component} of plugin {plugin} failed"


def log_refusal(
    log: FilteringBoundLogger, client: Client, connect: ClientConnect, refused: Refused
) -> None:
    """Log a refused login with the user that it claimed.

    Source: nats-server `client.go`, `authViolation`, `getAuthUser`.
    """
    event = "authentication error"
    fields = {"detail": refused.detail} if refused.detail else {}
    claims = (("Nkey", connect.nkey), ("User", connect.user), ("JWT User", refused.user))
    for means, user in claims:
        if user:
            event = f'authentication error - {means} "{{user}}"'
            fields["user"] = user
            break
    else:
        if connect.auth_token or client.label == "token":
            event = 'authentication error - Token "[REDACTED]"'
    log.error(event, remote=client.remote(), cid=client.cid, **fields)


def problem_of(error: BaseException) -> str:
    """Return the class and place of an authenticator's exception, without its text.

    That may repeat what the client sent.
    """
    frames = list(traceback.walk_tb(error.__traceback__))
    kind = f"raised {type(error).__name__}"
    if not frames:
        return kind
    frame, line = frames[-1]
    return f"{kind} at {frame.f_code.co_filename}:{line}"
