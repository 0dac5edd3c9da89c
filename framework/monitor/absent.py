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
from framework.monitor.options import (
    GATEWAYZ_OPTIONS,
    JSZ_OPTIONS,
    LEAFZ_OPTIONS,
    PROFILEZ_OPTIONS,
    RAFTZ_OPTIONS,
)
from framework.spec import MonitorEndpoint
from framework.spec.query import read_bool, read_int

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from framework.monitor.source import MonitorSource

_JSZ_FLAGS = ("accounts", "streams", "consumers", "direct-consumers", "config", "raft")


def absent_endpoints(source: MonitorSource) -> Sequence[MonitorEndpoint]:
    """Return the endpoints, over one server."""
    fallback = partial(MonitorEndpoint, is_fallback=True)
    return (
        fallback(
            path="/gatewayz",
            answer=partial(_answer_gatewayz, source),
            help="Gateways",
            request="GATEWAYZ",
            options=GATEWAYZ_OPTIONS,
        ),
        fallback(
            path="/leafz",
            answer=partial(_answer_leafz, source),
            help="LeafNodes",
            request="LEAFZ",
            account_request="LEAFZ",
            options=LEAFZ_OPTIONS,
        ),
        fallback(
            path="/jsz",
            answer=partial(_answer_jsz, source),
            help="JetStream",
            request="JSZ",
            options=JSZ_OPTIONS,
        ),
        fallback(answer=_answer_account_jsz, account_request="JSZ", options=JSZ_OPTIONS),
        fallback(path="/raftz", answer=_answer_raftz, help="Raft Groups"),
        fallback(answer=_answer_raft_request, request="RAFTZ", options=RAFTZ_OPTIONS),
        fallback(answer=_answer_expvarz, request="EXPVARZ"),
        fallback(answer=_answer_profilez, request="PROFILEZ", options=PROFILEZ_OPTIONS),
    )


async def _answer_gatewayz(source: MonitorSource, query: Mapping[str, str]) -> object:
    read_bool(query, "accs")
    return {**head(source), "outbound_gateways": {}, "inbound_gateways": {}}


async def _answer_leafz(source: MonitorSource, query: Mapping[str, str]) -> object:
    read_bool(query, "subs")
    return {**head(source), "leafnodes": 0, "leafs": []}


async def _answer_jsz(source: MonitorSource, query: Mapping[str, str]) -> object:
    for flag in _JSZ_FLAGS:
        read_bool(query, flag)
    read_int(query, "offset")
    read_int(query, "limit")
    if read_bool(query, "leader-only"):
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


async def _answer_account_jsz(_query: Mapping[str, str]) -> object:
    raise BadQuery("jetstream not enabled")


async def _answer_raftz(_query: Mapping[str, str]) -> object:
    return Text("No Raft nodes registered", status=404)


async def _answer_raft_request(_query: Mapping[str, str]) -> object:
    return {}


async def _answer_expvarz(_query: Mapping[str, str]) -> object:
    raise BadQuery("there are no expvars: they tell of the memory of Go, which this is not")


async def _answer_profilez(query: Mapping[str, str]) -> object:
    name = query.get("name", "")[:100]
    error = f'Profile "{name}" not found' if name else "Profile name not specified"
    return {"profile": None, "error": error}
