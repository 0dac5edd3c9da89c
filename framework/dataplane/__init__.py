"""The data plane: sockets, parser, fan-out and counters in compiled code without the GIL."""

from framework.dataplane._core import Core
from framework.dataplane._rows import (
    link_rows,
    subject_items,
    subscription_items,
    subscription_rows,
)
from framework.dataplane.coding import Coding, PlaneStage, WebSocketFrames
from framework.dataplane.event import (
    AddressRefused,
    Closed,
    Confirmed,
    Delivered,
    Detached,
    ErrReceived,
    Event,
    GateFailed,
    Greeting,
    InterestChanged,
    LatencySampled,
    Listed,
    Opened,
    PongReceived,
    ResponderTimed,
    Traced,
    Violated,
    Violation,
)
from framework.dataplane.gate import GateCounters
from framework.dataplane.limits import PlaneLimits
from framework.dataplane.link import LinkId, LinkKind, LinkRow, SubscriptionRow
from framework.dataplane.links._loop import Plane
from framework.dataplane.message_trace import MessageTraced, StepKind, TraceFault, TraceStep
from framework.dataplane.peers import PeerGuard, PeerTerms
from framework.dataplane.ports._gatequeue import GateQueue
from framework.dataplane.ports._sinkbatch import Batch
from framework.dataplane.sink import Overflow, SinkId, TapKind, WatchTerms
from framework.dataplane.totals import AccountTraffic, SublistCounters, Totals

__all__ = [
    "AccountTraffic",
    "AddressRefused",
    "Batch",
    "Closed",
    "Coding",
    "Confirmed",
    "Core",
    "Delivered",
    "Detached",
    "ErrReceived",
    "Event",
    "GateCounters",
    "GateFailed",
    "GateQueue",
    "Greeting",
    "InterestChanged",
    "LatencySampled",
    "LinkId",
    "LinkKind",
    "LinkRow",
    "Listed",
    "MessageTraced",
    "Opened",
    "Overflow",
    "PeerGuard",
    "PeerTerms",
    "Plane",
    "PlaneLimits",
    "PlaneStage",
    "PongReceived",
    "ResponderTimed",
    "SinkId",
    "StepKind",
    "SublistCounters",
    "SubscriptionRow",
    "TapKind",
    "Totals",
    "TraceFault",
    "TraceStep",
    "Traced",
    "Violated",
    "Violation",
    "WatchTerms",
    "WebSocketFrames",
    "link_rows",
    "subject_items",
    "subscription_items",
    "subscription_rows",
]
