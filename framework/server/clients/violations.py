"""Log lines of protocol and permission violations by clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from framework.spec import Violation

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

    from framework.server.clients.client_row import Client
    from framework.spec import Violated

_LINES: Final = {
    Violation.PUBLISH: 'Publish Violation - Subject "{subject}"',
    Violation.REPLY: 'Publish Violation - Reply "{subject}"',
    Violation.SUBSCRIBE: 'Subscription Violation - Subject "{subject}", SID {sid}',
    Violation.TOKENS: 'Subscription Violation Too Many Tokens - Subject "{subject}", SID {sid}',
}
_OF_GROUP: Final = 'Subscription Violation - Subject "{subject}", Queue: "{queue}", SID {sid}'
_ENDED: Final = 'Removed sub "{subject}" (sid "{sid}") for {user} - not authorized'
_ENDED_OF_GROUP: Final = (
    'Removed sub "{subject}" using queue "{queue}" (sid "{sid}") for {user} - not authorized'
)
_MEANS: Final = {"jwt": "JWT User", "nkey": "Nkey", "user": "User"}


def log_violated(log: FilteringBoundLogger, client: Client, event: Violated) -> None:
    """Log a violation as nats-server does.

    Source: nats-server `client.go`, `pubPermissionViolation`, `subPermissionViolation`,
    `processSubsOnConfigReload`.
    """
    fields: dict[str, object] = {"subject": event.subject}
    if event.violation not in {Violation.PUBLISH, Violation.REPLY}:
        fields["sid"] = event.sid
        if event.queue:
            fields["queue"] = event.queue
    if event.violation is Violation.ENDED:
        text = _ENDED_OF_GROUP if event.queue else _ENDED
        log.info(text, user=_shown_user(client), **fields)
        return
    text = _LINES[event.violation]
    if event.queue and event.violation is Violation.SUBSCRIBE:
        text = _OF_GROUP
    if event.missed:
        fields["missed"] = event.missed
    log.error(text, **client.prefix(), **fields)


def _shown_user(client: Client) -> str:
    """Return by which means somebody is there, and as whom. Source: `client.go`, `getAuthUser`."""
    if client.label == "token":
        return 'Token "[REDACTED]"'
    means, _, user = client.label.partition(":")
    return f'{_MEANS.get(means, "User")} "{user or "N/A"}"'
