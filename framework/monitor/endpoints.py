"""Monitoring endpoints of the core."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from framework.monitor.absent import absent_endpoints
from framework.monitor.accountz import answer_account_info, answer_accountz
from framework.monitor.accstatz import answer_accstatz, answer_accstatz_request
from framework.monitor.connz import answer_connz, answer_connz_request
from framework.monitor.healthz import answer_health_request, answer_healthz
from framework.monitor.internals import answer_ipqueuesz, answer_stacksz
from framework.monitor.options import (
    AccountStatzOptions,
    AccountzOptions,
    ConnzOptions,
    HealthzOptions,
    IpqueueszOptions,
    SubszOptions,
)
from framework.monitor.pluginz import answer_pluginz
from framework.monitor.quotaz import QuotazOptions, answer_quotaz
from framework.monitor.subsz import answer_account_subsz, answer_subsz
from framework.monitor.varz import answer_varz
from framework.spec import MonitorEndpoint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from framework.monitor.source import MonitorSource


def core_endpoints(source: MonitorSource) -> Sequence[MonitorEndpoint]:
    """Return the endpoints of the core, over one server, in the order of the index page."""
    return (
        MonitorEndpoint(
            path="/varz", answer=partial(answer_varz, source), help="General", request="VARZ"
        ),
        MonitorEndpoint(
            path="/connz",
            answer=partial(answer_connz, source),
            options=ConnzOptions,
            help="Connections",
        ),
        MonitorEndpoint(
            answer=partial(answer_connz_request, source),
            options=ConnzOptions,
            request="CONNZ",
            account_request="CONNZ",
        ),
        *_accounts(source),
        *_subscriptions(source),
        *_health(source),
        MonitorEndpoint(
            path="/quotaz",
            answer=partial(answer_quotaz, source),
            options=QuotazOptions,
            help="Quotas",
        ),
        MonitorEndpoint(path="/pluginz", answer=partial(answer_pluginz, source), help="Plugins"),
        *absent_endpoints(source),
    )


def _accounts(source: MonitorSource) -> Sequence[MonitorEndpoint]:
    return (
        MonitorEndpoint(
            path="/accountz",
            answer=partial(answer_accountz, source),
            options=AccountzOptions,
            help="Accounts",
            request="ACCOUNTZ",
        ),
        MonitorEndpoint(
            answer=partial(answer_account_info, source),
            options=AccountzOptions,
            account_request="INFO",
        ),
        MonitorEndpoint(
            path="/accstatz",
            answer=partial(answer_accstatz, source),
            options=AccountStatzOptions,
            help="Account Stats",
        ),
        MonitorEndpoint(
            answer=partial(answer_accstatz_request, source),
            options=AccountStatzOptions,
            account_request="STATZ",
        ),
    )


def _health(source: MonitorSource) -> Sequence[MonitorEndpoint]:
    return (
        MonitorEndpoint(
            path="/healthz",
            answer=partial(answer_healthz, source),
            options=HealthzOptions,
            help="Health Probe",
        ),
        MonitorEndpoint(
            answer=partial(answer_health_request, source),
            options=HealthzOptions,
            request="HEALTHZ",
        ),
        MonitorEndpoint(
            path="/ipqueuesz",
            answer=partial(answer_ipqueuesz, source),
            options=IpqueueszOptions,
            request="IPQUEUESZ",
        ),
        MonitorEndpoint(path="/stacksz", answer=answer_stacksz),
    )


def _subscriptions(source: MonitorSource) -> Sequence[MonitorEndpoint]:
    answer = partial(answer_subsz, source)
    return (
        MonitorEndpoint(
            path="/subsz",
            answer=answer,
            options=SubszOptions,
            help="Subscriptions",
            request="SUBSZ",
        ),
        MonitorEndpoint(
            path="/subscriptionsz", answer=answer, options=SubszOptions, help="Subscriptions"
        ),
        MonitorEndpoint(
            answer=partial(answer_account_subsz, source),
            options=SubszOptions,
            account_request="SUBSZ",
        ),
    )
