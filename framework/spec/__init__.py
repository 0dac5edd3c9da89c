"""The plugin API: what plugins hand to the core, and what the core hands to plugins."""

from framework.dataplane.batch import Batch
from framework.dataplane.coding import Coding, PlaneStage, WebSocketFrames
from framework.dataplane.dialects import (
    CLIENT_DIALECT,
    GATEWAY_DIALECT,
    LEAF_DIALECT,
    ROUTE_DIALECT,
    AccountWord,
    Dialect,
    VerbOperation,
)
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
from framework.dataplane.kinds import KindTraits
from framework.dataplane.link import KindNames, LinkId, LinkKind, LinkRow, SubscriptionRow
from framework.dataplane.message_trace import MessageTraced, StepKind, TraceFault, TraceStep
from framework.dataplane.peers import PeerTerms
from framework.dataplane.permissions import Permissions, ResponsePermission, SubjectRules
from framework.dataplane.reserved import ReservedPrefix
from framework.dataplane.scopes import GroupClass, Scope
from framework.dataplane.sink import Overflow, SinkId, TapKind
from framework.dataplane.tables import MappedDestination, ResponseKind, SubjectMapping
from framework.dataplane.verdict import PASS, Delay, Pass, Refuse, Rewrite, Verdict
from framework.redacted import Redacted
from framework.spec.account import (
    ALL_TIERS,
    GLOBAL_ACCOUNT,
    SYSTEM_ACCOUNT,
    UNLIMITED,
    AccountBook,
    AccountLimits,
    AccountPlan,
    AccountSpec,
    JetStreamLimits,
    LatencySampling,
    ServiceExport,
    ServiceImport,
    StreamExport,
    StreamImport,
    TrustedOperator,
)
from framework.spec.addresses import RefusedAddresses
from framework.spec.command import CommandGroup
from framework.spec.component import ComponentSpec
from framework.spec.compression import (
    CODEC_NAME_CHARS_MAX,
    Codec,
    CompressionMode,
    Decode,
    Encode,
)
from framework.spec.connection import ClientIdentity, ConnectionInfo
from framework.spec.gate import GateSpec
from framework.spec.hooks import HookOffer
from framework.spec.link_kind import LinkKindSpec
from framework.spec.listener import DialFailed, LinkEvents, ListenerSpec
from framework.spec.login import (
    Accepted,
    Authenticator,
    ConnectionLimits,
    LoginAnswer,
    LoginRequest,
    Refused,
    TlsPeer,
)
from framework.spec.monitor import (
    HealthCheck,
    HealthProblem,
    HealthQuestion,
    MonitorEndpoint,
    MonitorFields,
)
from framework.spec.plane import PlaneControl
from framework.spec.ports import Outgoing, Port, PortSpec, RowKind, RowWord, include_folder
from framework.spec.quota import Quota
from framework.spec.request_options import (
    GatewayzOptions,
    InQuery,
    LeafzOptions,
    NoOptions,
    Unsigned,
)
from framework.spec.rows import Rows, SubscriptionRows
from framework.spec.rules import subject_rules
from framework.spec.server import ServerContext, StopReason
from framework.spec.service import ServiceAnswer, ServiceReply, ServiceRequest, ServiceSpec
from framework.spec.status import StatusColumn, StatusDetails, StatusLine, StatusSection
from framework.spec.tap import TapSpec
from framework.spec.tls import TlsFacts, TlsSettings, tls_settings
from framework.spec.transport import (
    Admitted,
    Arrival,
    ChannelStage,
    Credentials,
    LinkChannel,
    Translated,
    TransportHandshake,
    TransportLogin,
    TransportSpec,
    TransportStage,
    TurnedAway,
)
from framework.wire.closed_state import ClosedState
from framework.wire.info import ClientConnect

__all__ = [
    "ALL_TIERS",
    "CLIENT_DIALECT",
    "CODEC_NAME_CHARS_MAX",
    "GATEWAY_DIALECT",
    "GLOBAL_ACCOUNT",
    "LEAF_DIALECT",
    "PASS",
    "ROUTE_DIALECT",
    "SYSTEM_ACCOUNT",
    "UNLIMITED",
    "Accepted",
    "AccountBook",
    "AccountLimits",
    "AccountPlan",
    "AccountSpec",
    "AccountWord",
    "AddressRefused",
    "Admitted",
    "Arrival",
    "Authenticator",
    "Batch",
    "ChannelStage",
    "ClientConnect",
    "ClientIdentity",
    "Closed",
    "ClosedState",
    "Codec",
    "Coding",
    "CommandGroup",
    "ComponentSpec",
    "CompressionMode",
    "Confirmed",
    "ConnectionInfo",
    "ConnectionLimits",
    "Credentials",
    "Decode",
    "Delay",
    "Delivered",
    "Detached",
    "DialFailed",
    "Dialect",
    "Encode",
    "ErrReceived",
    "Event",
    "GateFailed",
    "GateSpec",
    "GatewayzOptions",
    "Greeting",
    "GroupClass",
    "HealthCheck",
    "HealthProblem",
    "HealthQuestion",
    "HookOffer",
    "InQuery",
    "InterestChanged",
    "JetStreamLimits",
    "KindNames",
    "KindTraits",
    "LatencySampled",
    "LatencySampling",
    "LeafzOptions",
    "LinkChannel",
    "LinkEvents",
    "LinkId",
    "LinkKind",
    "LinkKindSpec",
    "LinkRow",
    "Listed",
    "ListenerSpec",
    "LoginAnswer",
    "LoginRequest",
    "MappedDestination",
    "MessageTraced",
    "MonitorEndpoint",
    "MonitorFields",
    "NoOptions",
    "Opened",
    "Outgoing",
    "Overflow",
    "Pass",
    "PeerTerms",
    "Permissions",
    "PlaneControl",
    "PlaneStage",
    "PongReceived",
    "Port",
    "PortSpec",
    "Quota",
    "Redacted",
    "Refuse",
    "Refused",
    "RefusedAddresses",
    "ReservedPrefix",
    "ResponderTimed",
    "ResponseKind",
    "ResponsePermission",
    "Rewrite",
    "RowKind",
    "RowWord",
    "Rows",
    "Scope",
    "ServerContext",
    "ServiceAnswer",
    "ServiceExport",
    "ServiceImport",
    "ServiceReply",
    "ServiceRequest",
    "ServiceSpec",
    "SinkId",
    "StatusColumn",
    "StatusDetails",
    "StatusLine",
    "StatusSection",
    "StepKind",
    "StopReason",
    "StreamExport",
    "StreamImport",
    "SubjectMapping",
    "SubjectRules",
    "SubscriptionRow",
    "SubscriptionRows",
    "TapKind",
    "TapSpec",
    "TlsFacts",
    "TlsPeer",
    "TlsSettings",
    "TraceFault",
    "TraceStep",
    "Traced",
    "Translated",
    "TransportHandshake",
    "TransportLogin",
    "TransportSpec",
    "TransportStage",
    "TrustedOperator",
    "TurnedAway",
    "Unsigned",
    "VerbOperation",
    "Verdict",
    "Violated",
    "Violation",
    "WebSocketFrames",
    "include_folder",
    "subject_rules",
    "tls_settings",
]
