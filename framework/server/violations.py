"""What the log says of clients that did what they may not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from framework.spec import Violated, Violation

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

_PLAIN: Final = {
    Violation.PUBLISH: 'Publish Violation - Subject "{subject}"',
    Violation.REPLY: 'Publish Violation - Reply "{subject}"',
    Violation.SUBSCRIBE: 'Subscription Violation - Subject "{subject}", SID {sid}',
    Violation.TOKENS: ('Subscription Violation Too Many Tokens - Subject "{subject}", SID {sid}'),
    Violation.ENDED: 'Removed sub "{subject}" (sid "{sid}") - not authorized',
}
_QUEUE: Final = {
    **_PLAIN,
    Violation.SUBSCRIBE: (
        'Subscription Violation - Subject "{subject}", Queue: "{queue}", SID {sid}'
    ),
    Violation.ENDED: (
        'Removed sub "{subject}" using queue "{queue}" (sid "{sid}") - not authorized'
    ),
}


def log_violation(log: FilteringBoundLogger, violated: Violated) -> None:
    """Say what a client did as nats-server does.

    Args:
        log: Names the connection in each line.
        violated: What the plane has reported; it leaves some out when there are many.

    Source: nats-server `client.go`, `pubPermissionViolation`, `subPermissionViolation`.
    """
    if violated.missed:
        log.error("{count} violations not shown", count=violated.missed)
    event = (_QUEUE if violated.queue else _PLAIN)[violated.violation]
    fields = {"subject": violated.subject, "queue": violated.queue, "sid": violated.sid}
    shown = {name: value for name, value in fields.items() if f"{{{name}}}" in event}
    write = log.info if violated.violation is Violation.ENDED else log.error
    write(event, **shown)
