"""Monitoring endpoints of features that this server does not have; they answer as nats-server does.

A plugin that has the concern takes their place.
Source: nats-server `monitor.go`, `Gatewayz`, `Leafz`, `Jsz`, `Raftz`, `expvarz` and `profilez`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from framework.errors import BadQuery, NoAnswer
from framework.monitor.answers import Text
from framework.monitor.head import head
from framework.monitor.options import JszOptions, ProfilezOptions, RaftzOptions
from framework.spec import GatewayzOptions, LeafzOptions, MonitorEndpoint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from framework.monitor.source import MonitorSource
    from framework.spec import NoOptions


def absent_endpoints(source: MonitorSource) -> Sequence[MonitorEndpoint]:
    """Return the endpoints, over one server."""
    fallback = partial(MonitorEndpoint, is_fallback=True)
    return (
        fallback(
            path="/gatewayz",
            answer=partial(_answer_gatewayz, source),
            options=GatewayzOptions,
            help="Gateways",
            request="GATEWAYZ",
        ),
        fallback(
            path="/leafz",
            answer=partial(_answer_leafz, source),
            options=LeafzOptions,
            help="LeafNodes",
            request="LEAFZ",
            account_request="LEAFZ",
        ),
        fallback(
            path="/jsz",
            answer=partial(_answer_jsz, source),
            options=JszOptions,
            help="JetStream",
            request="JSZ",
        ),
        fallback(answer=_answer_account_jsz, options=JszOptions, account_request="JSZ"),
        fallback(path="/raftz", answer=_answer_raftz, options=RaftzOptions, help="Raft Groups"),
        fallback(answer=_answer_raft_request, options=RaftzOptions, request="RAFTZ"),
        fallback(answer=_answer_expvarz, request="EXPVARZ"),
        fallback(answer=_answer_profilez, options=ProfilezOptions, request="PROFILEZ"),
    )


async def _answer_gatewayz(source: MonitorSource, _options: GatewayzOptions) -> object:
    return {**head(source), "outbound_gateways": {}, "inbound_gateways": {}}


async def _answer_leafz(source: MonitorSource, _options: LeafzOptions) -> object:
    return {**head(source), "leafnodes": 0, "leafs": []}


async def _answer_jsz(source: MonitorSource, options: JszOptions) -> object:
    if options.leader_only:
        raise NoAnswer("filtered response: not leader")
    return {
        "memory": 0,
        "storage": 0,
        "reserved_memory": 0,
        "reserved_storage": 0,
        "accounts": 0,
        "ha_assets": 0,
        "api": {"level": 0, "total": 0, "errors": 0},
        **head(source),
        "disabled": True,
        "config": {"max_memory": 0, "max_storage": 0},
        "streams": 0,
        "consumers": 0,
        "messages": 0,
        "bytes": 0,
        "total": 0,
    }


async def _answer_account_jsz(_options: JszOptions) -> object:
    raise BadQuery("jetstream not enabled")


async def _answer_raftz(_options: RaftzOptions) -> object:
    return Text("No Raft nodes registered", status=404)


async def _answer_raft_request(_options: RaftzOptions) -> object:
    return {}


async def _answer_expvarz(_options: NoOptions) -> object:
    raise BadQuery("there are no expvars: they tell of the memory of Go, which this is not")


async def _answer_profilez(options: ProfilezOptions) -> object:
    name = options.name[:100]
    error = f'Profile "{name}" not found' if name else "Profile name not specified"
    return {"profile": None, "error": error}
