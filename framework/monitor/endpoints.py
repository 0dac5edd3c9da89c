"""The endpoints that every server has."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from framework.monitor.connz import answer_connz
from framework.monitor.healthz import answer_healthz
from framework.monitor.subsz import answer_subsz
from framework.monitor.varz import answer_varz
from framework.spec import MonitorEndpoint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from framework.monitor.source import MonitorSource


def core_endpoints(source: MonitorSource) -> Sequence[MonitorEndpoint]:
    """Return the endpoints of the core, over one server."""
    answers = (
        ("/varz", answer_varz, "General"),
        ("/connz", answer_connz, "Connections"),
        ("/subsz", answer_subsz, "Subscriptions"),
        ("/subscriptionsz", answer_subsz, "Subscriptions"),
        ("/healthz", answer_healthz, "Health probe"),
    )
    return tuple(
        MonitorEndpoint(path=path, answer=partial(answer, source), help=help_)
        for path, answer, help_ in answers
    )
