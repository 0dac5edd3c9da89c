"""`/healthz`: health checks of the server and of plugins, for probes.

Source: nats-server `monitor.go`, `healthz`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct

from framework.monitor.answers import Answer
from framework.spec import HealthQuestion

if TYPE_CHECKING:
    from collections.abc import Sequence

    from framework.monitor.options import HealthzOptions
    from framework.monitor.source import MonitorSource
    from framework.spec import HealthProblem

_NOT_FOUND: Final = 404
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
    found = () if options.js_server_only else source.examine_health(_question(options))
    return _examined(found, details=details) if found else _Health(200, {"status": "ok"})


def _question(options: HealthzOptions) -> HealthQuestion:
    return HealthQuestion(
        account=options.account,
        stream=options.stream,
        consumer=options.consumer,
        is_shallow=options.js_enabled or options.js_enabled_only or options.js_meta_only,
        is_of_cluster=not (options.js_enabled or options.js_enabled_only),
    )


def _examined(problems: Sequence[HealthProblem], *, details: bool) -> _Health:
    """Return all problems, or the first one."""
    code = _NOT_FOUND if any(it.is_missing for it in problems) else _UNAVAILABLE
    if not details:
        return _Health(code, {"status": "unavailable", "error": problems[0].error})
    errors = []
    for it in problems:
        names = {"account": it.account, "stream": it.stream, "consumer": it.consumer}
        shown = {name: value for name, value in names.items() if value}
        errors.append({"type": it.kind, **shown, "error": it.error})
    return _Health(code, {"status": "error", "errors": errors})


def _problem(
    code: int, kind: Literal["BAD_REQUEST", "CONNECTION"], problems: Sequence[str], *, details: bool
) -> _Health:
    if details:
        errors = [{"type": kind, "error": problem} for problem in problems]
        return _Health(code, {"status": "error", "errors": errors})
    status = "unavailable" if code == _UNAVAILABLE else "error"
    return _Health(code, {"status": status, "error": "; ".join(problems)})
