"""What plugins hand to the core and the core to plugins; not how either does its work."""

from framework.dataplane.batch import Batch
from framework.dataplane.event import (
    Closed,
    Delivered,
    ErrReceived,
    Event,
    Greeting,
    InterestChanged,
    LinksAnswered,
    Opened,
    PongReceived,
    SubscriptionsAnswered,
    Traced,
)
from framework.dataplane.link import LinkId, LinkKind, LinkRow, SubscriptionRow
from framework.dataplane.sink import Overflow, SinkId
from framework.spec.command import CommandGroup
from framework.spec.component import ComponentSpec
from framework.spec.connection import ConnectionInfo
from framework.spec.hooks import HookOffer
from framework.spec.listener import DialFailed, LinkEvents, ListenerSpec
from framework.spec.login import Accepted, Authenticator, LoginAnswer, LoginRequest, Refused
from framework.spec.monitor import HealthCheck, MonitorEndpoint
from framework.spec.plane import PlaneControl
from framework.spec.server import ServerContext, StopReason
from framework.spec.tap import TapSpec
from framework.wire.closed_state import ClosedState

__all__ = [
    "Accepted",
    "Authenticator",
    "Batch",
    "Closed",
    "ClosedState",
    "CommandGroup",
    "ComponentSpec",
    "ConnectionInfo",
    "Delivered",
    "DialFailed",
    "ErrReceived",
    "Event",
    "Greeting",
    "HealthCheck",
    "HookOffer",
    "InterestChanged",
    "LinkEvents",
    "LinkId",
    "LinkKind",
    "LinkRow",
    "LinksAnswered",
    "ListenerSpec",
    "LoginAnswer",
    "LoginRequest",
    "MonitorEndpoint",
    "Opened",
    "Overflow",
    "PlaneControl",
    "PongReceived",
    "Refused",
    "ServerContext",
    "SinkId",
    "StopReason",
    "SubscriptionRow",
    "SubscriptionsAnswered",
    "TapSpec",
    "Traced",
]
