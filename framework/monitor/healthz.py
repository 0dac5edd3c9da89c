"""`/healthz`: health checks of the server and of plugins, for probes.

Source: nats-server `monitor.go`, `healthz`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct

from framework.monitor.answers import Answer
from framework.spec.query import read_bool

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from framework.monitor.source import MonitorSource

_UNAVAILABLE: Final = 503
_FLAGS: Final = ("js-enabled", "js-enabled-only", "js-server-only", "js-meta-only")


class _Health(Struct, frozen=True):
    code: int
    document: dict[str, object]


async def answer_healthz(source: MonitorSource, query: Mapping[str, str]) -> Answer:
    """Return 200 and `ok`, or another status and what is wrong.

    Raises:
        BadQuery: A value makes no sense.
    """
    health = _health(source, query)
    return Answer(health.code, health.document, indent=None)


async def answer_health_request(source: MonitorSource, query: Mapping[str, str]) -> object:
    """Return the same for a message, which has no status but in the document.

    Raises:
        BadQuery: A value makes no sense.
    """
    health = _health(source, query)
    return {"status": health.document["status"], "status_code": health.code, **health.document}


def _health(source: MonitorSource, query: Mapping[str, str]) -> _Health:
    for flag in _FLAGS:
        read_bool(query, flag)
    details = read_bool(query, "details")
    account, stream, consumer = (query.get(name) for name in ("account", "stream", "consumer"))
    if stream and not account:
        problem = '"account" must not be empty when checking stream health'
        return _problem(400, "BAD_REQUEST", [problem], details=details)
    if consumer and not stream:
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
