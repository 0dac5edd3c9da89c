"""The endpoints that every server has."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from framework.monitor.connz import answer_connz
from framework.monitor.healthz import answer_health_request, answer_healthz
from framework.monitor.options import CONNZ_OPTIONS, HEALTHZ_OPTIONS, SUBSZ_OPTIONS
from framework.monitor.subsz import answer_account_subsz, answer_subsz
from framework.monitor.varz import answer_varz
from framework.spec import MonitorEndpoint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from framework.monitor.source import MonitorSource


def core_endpoints(source: MonitorSource) -> Sequence[MonitorEndpoint]:
    """Return the endpoints of the core, over one server."""
    return (
        MonitorEndpoint(
            path="/varz", answer=partial(answer_varz, source), help="General", request="VARZ"
        ),
        MonitorEndpoint(
            path="/connz",
            answer=partial(answer_connz, source),
            help="Connections",
            request="CONNZ",
            account_request="CONNZ",
            options=CONNZ_OPTIONS,
        ),
        *_subscriptions(source),
        MonitorEndpoint(
            path="/healthz", answer=partial(answer_healthz, source), help="Health probe"
        ),
        MonitorEndpoint(
            answer=partial(answer_health_request, source),
            request="HEALTHZ",
            options=HEALTHZ_OPTIONS,
        ),
    )


def _subscriptions(source: MonitorSource) -> Sequence[MonitorEndpoint]:
    answer = partial(answer_subsz, source)
    return (
        MonitorEndpoint(
            path="/subsz",
            answer=answer,
            help="Subscriptions",
            request="SUBSZ",
            options=SUBSZ_OPTIONS,
        ),
        MonitorEndpoint(path="/subscriptionsz", answer=answer, help="Subscriptions"),
        MonitorEndpoint(
            answer=partial(answer_account_subsz, source),
            account_request="SUBSZ",
            options=SUBSZ_OPTIONS,
        ),
    )
