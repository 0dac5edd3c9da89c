"""Monitoring endpoints of the core; the modules that answer are imported when they are asked."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from framework.monitor.absent import absent_endpoints
from framework.monitor.options import (
    AccountStatzOptions,
    AccountzOptions,
    ConnzOptions,
    HealthzOptions,
    IpqueueszOptions,
    QuotazOptions,
    SubszOptions,
)
from framework.spec import MonitorEndpoint

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from framework.monitor.source import MonitorSource


def core_endpoints(source: MonitorSource) -> Sequence[MonitorEndpoint]:
    """Return the endpoints of the core, over one server, in the order of the index page."""
    return (
        MonitorEndpoint(
            path="/varz", answer=_answer(source, "varz.answer_varz"), help="General", request="VARZ"
        ),
        MonitorEndpoint(
            path="/connz",
            answer=_answer(source, "connz.answer_connz"),
            options=ConnzOptions,
            help="Connections",
        ),
        MonitorEndpoint(
            answer=_answer(source, "connz.answer_connz_request"),
            options=ConnzOptions,
            request="CONNZ",
            account_request="CONNZ",
        ),
        *_accounts(source),
        *_subscriptions(source),
        *_health(source),
        MonitorEndpoint(
            path="/quotaz",
            answer=_answer(source, "quotaz.answer_quotaz"),
            options=QuotazOptions,
            help="Quotas",
        ),
        MonitorEndpoint(
            path="/pluginz", answer=_answer(source, "pluginz.answer_pluginz"), help="Plugins"
        ),
        *absent_endpoints(source),
    )


def _accounts(source: MonitorSource) -> Sequence[MonitorEndpoint]:
    return (
        MonitorEndpoint(
            path="/accountz",
            answer=_answer(source, "accountz.answer_accountz"),
            options=AccountzOptions,
            help="Accounts",
            request="ACCOUNTZ",
        ),
        MonitorEndpoint(
            answer=_answer(source, "accountz.answer_account_info"),
            options=AccountzOptions,
            account_request="INFO",
        ),
        MonitorEndpoint(
            path="/accstatz",
            answer=_answer(source, "accstatz.answer_accstatz"),
            options=AccountStatzOptions,
            help="Account Stats",
        ),
        MonitorEndpoint(
            answer=_answer(source, "accstatz.answer_accstatz_request"),
            options=AccountStatzOptions,
            account_request="STATZ",
        ),
    )


def _health(source: MonitorSource) -> Sequence[MonitorEndpoint]:
    return (
        MonitorEndpoint(
            path="/healthz",
            answer=_answer(source, "healthz.answer_healthz"),
            options=HealthzOptions,
            help="Health Probe",
        ),
        MonitorEndpoint(
            answer=_answer(source, "healthz.answer_health_request"),
            options=HealthzOptions,
            request="HEALTHZ",
        ),
        MonitorEndpoint(
            path="/ipqueuesz",
            answer=_answer(source, "internals.answer_ipqueuesz"),
            options=IpqueueszOptions,
            request="IPQUEUESZ",
        ),
        MonitorEndpoint(path="/stacksz", answer=_answer(source, "internals.answer_stacksz")),
    )


def _subscriptions(source: MonitorSource) -> Sequence[MonitorEndpoint]:
    answer = _answer(source, "subsz.answer_subsz")
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
            answer=_answer(source, "subsz.answer_account_subsz"),
            options=SubszOptions,
            account_request="SUBSZ",
        ),
    )


def _answer(source: MonitorSource, name: str) -> Callable[[object], Awaitable[object]]:
    """Return what calls a function of a module of this room with `source` and the options."""
    module, _, function = name.partition(".")

    async def answer(options: object) -> object:
        home = import_module(f"framework.monitor.{module}")
        return await getattr(home, function)(source, options)

    return answer
