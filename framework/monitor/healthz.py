"""`/healthz`: whether the server is well, for probes.

Source: nats-server `monitor.go`, `healthz`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.monitor.http_server import Answer
from framework.spec.query import read_bool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework.monitor.source import MonitorSource

_FLAGS = ("js-enabled", "js-enabled-only", "js-server-only", "js-meta-only")


async def answer_healthz(source: MonitorSource, query: Mapping[str, str]) -> Answer:
    """Return 200 and `ok`, or 503 and what is wrong.

    Raises:
        BadQuery: A value makes no sense.
    """
    for flag in _FLAGS:
        read_bool(query, flag)
    details = read_bool(query, "details")
    problems = source.health_problems()
    if not problems:
        return Answer(200, {"status": "ok"}, indent=None)
    if details:
        errors = [{"type": "CONNECTION", "error": problem} for problem in problems]
        return Answer(503, {"status": "error", "errors": errors}, indent=None)
    document = {"status": "unavailable", "error": "; ".join(problems)}
    return Answer(503, document, indent=None)
