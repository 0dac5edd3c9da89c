"""`/healthz`: health checks of the server and of plugins, for probes.

Source: nats-server `monitor.go`, `healthz`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct

from framework.monitor.answers import Answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from framework.monitor.options import HealthzOptions
    from framework.monitor.source import MonitorSource

_UNAVAILABLE: Final = 503


class _Health(Struct, frozen=True):
    code: int
    document: dict[str, object]


async def answer_healthz(source: MonitorSource, options: HealthzOptions) -> Answer:
    """Return 200 and `ok`, or another status and what is wrong."""
    health = _health(source, options)
    return Answer(health.code, health.document, indent=None)


async def answer_health_request(source: MonitorSource, options: HealthzOptions) -> object:
    """Return the same for a message, which has no status but in the document."""
    health = _health(source, options)
    return {"status": health.document["status"], "status_code": health.code, **health.document}


def _health(source: MonitorSource, options: HealthzOptions) -> _Health:
    details = options.details
    if options.stream and not options.account:
        problem = '"account" must not be empty when checking stream health'
        return _problem(400, "BAD_REQUEST", [problem], details=details)
    if options.consumer and not options.stream:
        problem = '"stream" must not be empty when checking consumer health'
        return _problem(400, "BAD_REQUEST", [problem], details=details)
    if problems := source.health_problems():
        return _problem(_UNAVAILABLE, "CONNECTION", problems, details=details)
    return _Health(200, {"status": "ok"})


def _problem(
    code: int, kind: Literal["BAD_REQUEST", "CONNECTION"], problems: Sequence[str], *, details: bool
) -> _Health:
    if details:
        errors = [{"type": kind, "error": problem} for problem in problems]
        return _Health(code, {"status": "error", "errors": errors})
    status = "unavailable" if code == _UNAVAILABLE else "error"
    return _Health(code, {"status": status, "error": "; ".join(problems)})
