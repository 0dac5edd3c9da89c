"""The records of the JetStream API, with nats-server's names and order of fields.

`omitempty` names the fields of a record that are left out when they are empty.

Source: nats-server `stream.go`, `StreamConfig`; `store.go`, `StreamState`; `jetstream_api.go`.

Size: one class for each record.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal

import msgspec
from msgspec import Meta, Struct, field

if TYPE_CHECKING:
    from framework.spec import JetStreamLimits
    from framework_jetstream.api.errors import ApiError

Retention = Literal["limits", "interest", "workqueue"]
Discard = Literal["old", "new"]
Storage = Literal["file", "memory"]
Compression = Literal["none", "s2"]
AckPolicy = Literal["none", "all", "explicit", "flow_control"]
DeliverPolicy = Literal[
    "all", "last", "new", "by_start_sequence", "by_start_time", "last_per_subject"
]


Signed = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Unsigned = Annotated[int, Meta(ge=0)]


class Record(Struct, kw_only=True, forbid_unknown_fields=True):
    """What the API reads and writes as one JSON object."""

    omitempty: ClassVar[frozenset[str]] = frozenset()


def _fields(names: str) -> frozenset[str]:
    return frozenset(names.split())


class Placement(Record):
    """Where a stream is to live."""

    omitempty: ClassVar = _fields("cluster tags preferred")

    cluster: str = ""
    tags: list[str] | None = None
    preferred: str = ""


class SubjectTransform(Record):
    """Subjects, and what they become."""

    src: str = ""
    dest: str = ""


class RePublish(Record):
    """What is published again when it was stored."""

    omitempty: ClassVar = _fields("src headers_only")

    src: str = ""
    dest: str = ""
    headers_only: bool = False


class ExternalStream(Record):
    """Where the API of another account or domain is reached, and where its consumers deliver."""

    api: str = ""
    deliver: str = ""


class StreamConsumerSource(Record):
    """A consumer that is there already, whose messages are taken."""

    omitempty: ClassVar = _fields("name deliver_subject")

    name: str = ""
    deliver_subject: str = ""


class StreamSource(Record):
    """A stream whose messages another one takes."""

    omitempty: ClassVar = _fields(
        "opt_start_seq opt_start_time filter_subject subject_transforms external consumer"
    )

    name: str = ""
    opt_start_seq: Unsigned = 0
    opt_start_time: str | None = None
    filter_subject: str = ""
    subject_transforms: list[SubjectTransform] | None = None
    external: ExternalStream | None = None
    consumer: StreamConsumerSource | None = None


class StreamSourceInfo(Record, kw_only=True):
    """How far a stream has taken the messages of another one."""

    omitempty: ClassVar = _fields("external seq error filter_subject subject_transforms")

    name: str
    external: ExternalStream | None = None
    lag: int
    seq: int = 0
    """The last one that is stored; a mirror has the same sequences."""
    active: int
    """Nanoseconds since the other stream was heard; -1: never."""
    error: ApiError | None = None
    filter_subject: str = ""
    subject_transforms: list[SubjectTransform] | None = None


class ConsumerLimits(Record):
    """What consumers of a stream may have at most, and have if they say nothing."""

    omitempty: ClassVar = _fields("inactive_threshold max_ack_pending")

    inactive_threshold: Signed = 0
    max_ack_pending: Signed = 0


class StreamConfig(Record):
    """What users set of a stream; times are nanoseconds, and -1 is no limit."""

    omitempty: ClassVar = _fields(
        "description subjects no_ack duplicate_window placement mirror sources first_seq"
        " subject_transform republish discard_new_per_subject subject_delete_marker_ttl"
        " allow_msg_counter allow_atomic allow_msg_schedules persist_mode allow_batched metadata"
    )

    name: str = ""
    description: str = ""
    subjects: list[str] | None = None
    retention: Retention = "limits"
    max_consumers: Signed = 0
    max_msgs: Signed = 0
    max_bytes: Signed = 0
    max_age: Signed = 0
    max_msgs_per_subject: Signed = 0
    max_msg_size: Signed = 0
    discard: Discard = "old"
    storage: Storage = "file"
    num_replicas: Signed = 0
    no_ack: bool = False
    duplicate_window: Signed = 0
    placement: Placement | None = None
    mirror: StreamSource | None = None
    sources: list[StreamSource] | None = None
    compression: Compression = "none"
    first_seq: Unsigned = 0
    subject_transform: SubjectTransform | None = None
    republish: RePublish | None = None
    allow_direct: bool = False
    mirror_direct: bool = False
    discard_new_per_subject: bool = False
    sealed: bool = False
    deny_delete: bool = False
    deny_purge: bool = False
    allow_rollup_hdrs: bool = False
    consumer_limits: ConsumerLimits = field(default_factory=ConsumerLimits)
    allow_msg_ttl: bool = False
    subject_delete_marker_ttl: Signed = 0
    allow_msg_counter: bool = False
    allow_atomic: bool = False
    allow_msg_schedules: bool = False
    persist_mode: Literal["", "default", "async"] = ""
    allow_batched: bool = False
    metadata: dict[str, str] | None = None


class StreamConfigRequest(StreamConfig):
    """A configuration as a request brings it."""

    pedantic: bool = False


class StreamState(Record):
    """What a stream holds; times as text."""

    omitempty: ClassVar = _fields("num_subjects subjects num_deleted deleted lost")

    messages: int = 0
    bytes: int = 0
    first_seq: int = 0
    first_ts: str = ""
    last_seq: int = 0
    last_ts: str = ""
    num_subjects: int = 0
    subjects: dict[str, int] | None = None
    num_deleted: int = 0
    deleted: list[int] | None = None
    lost: dict[str, Any] | None = None
    """What damaged files have lost."""
    consumer_count: int = 0


class SnapshotRequest(Record):
    """Where a snapshot is sent, and how."""

    deliver_subject: str = ""
    no_consumers: bool = False
    chunk_size: Signed = 0
    window_size: Signed = 0
    jsck: bool = False
    """Each message is looked at anyway."""


class StreamExportRequest(Record):
    """What of a stream is sent as a table; nats-server has no such request."""

    seq: Unsigned = 0
    up_to_seq: Unsigned = 0
    """0: the last one of the stream when it is asked for."""
    start_time: str | None = None
    up_to_time: str | None = None
    filter_subjects: list[str] | None = None
    columns: list[str] | None = None
    """None: all that there are."""
    max_frame_bytes: Unsigned = 0
    server: str = ""
    """Name of a server with a replica that is to send it; empty: who leads the stream does."""


class StreamExportInfo(Record):
    """What will be sent, and where its frames are asked for."""

    id: str
    """Stands where the name of a consumer does in `CONSUMER.MSG.NEXT`; empty: nothing is sent."""
    columns: list[str]
    first_seq: int
    last_seq: int
    max_frame_bytes: int
    window: int
    """Frames that may be asked for at a time; more are not remembered."""
    created: str
    """Of the stream."""
    state: StreamState
    server: str
    """Name of who sends it."""


class MoveRequest(Record):
    """Which server is to have a stream no more."""

    server: str = ""
    cluster: str = ""
    """That the server is in; empty: any."""
    domain: str = ""
    """The same."""
    tags: list[str] | None = None
    """That who gets it must have, this time."""


class RestoreRequest(Record):
    """What a snapshot is restored to."""

    config: StreamConfig = field(default_factory=StreamConfig)
    state: StreamState = field(default_factory=StreamState)


class PeerInfo(Record, kw_only=True):
    """How a server of a group follows its leader."""

    omitempty: ClassVar = _fields("offline lag pending")

    name: str
    current: bool
    offline: bool = False
    active: int
    """Nanoseconds since it was heard."""
    lag: int = 0
    """Entries that it has not."""
    peer: str
    pending: bool = False


class DesiredPeer(Record, kw_only=True):
    """A server that is to have an asset."""

    name: str
    peer: str


class DesiredOrigin(Record, kw_only=True):
    """What an asset was before it began to move."""

    omitempty: ClassVar = _fields("placement")

    replicas: int
    placement: Placement | None = None


class DesiredClusterInfo(Record, kw_only=True):
    """Where an asset moves to."""

    omitempty: ClassVar = _fields("replicas origin")

    created: str
    name: str
    replicas: list[DesiredPeer] | None = None
    origin: DesiredOrigin | None = None


class ClusterInfo(Record):
    """Who has an asset, and who leads."""

    omitempty: ClassVar = _fields(
        "name raft_group leader leader_since system_account traffic_account replicas desired"
    )

    name: str = ""
    raft_group: str = ""
    leader: str = ""
    leader_since: str = ""
    system_account: bool = False
    traffic_account: str = ""
    replicas: list[PeerInfo] | None = None
    desired: DesiredClusterInfo | None = None


class MetaClusterInfo(Record, kw_only=True):
    """The meta group, in `/jsz` and `/varz`."""

    omitempty: ClassVar = _fields("name leader peer replicas snapshot")

    name: str = ""
    leader: str = ""
    peer: str = ""
    replicas: list[PeerInfo] | None = None
    """Only the leader knows them."""
    cluster_size: int
    quorum_needed: int
    pending: int = 0
    pending_requests: int = 0
    pending_infos: int = 0
    snapshot: dict[str, Any] | None = None


class StreamInfo(Record, kw_only=True):
    """A stream as the API shows it."""

    omitempty: ClassVar = _fields("domain cluster mirror sources")

    config: StreamConfig
    created: str
    state: StreamState
    domain: str = ""
    cluster: ClusterInfo | None = None
    mirror: StreamSourceInfo | None = None
    sources: list[StreamSourceInfo] | None = None
    ts: str


class StoredMessage(Record, kw_only=True):
    """A message as it was stored; header and payload in base64."""

    omitempty: ClassVar = _fields("hdrs data")

    subject: str
    seq: int
    hdrs: bytes = b""
    data: bytes = b""
    time: str


class ConsumerConfig(Record):
    """What users set of a consumer; times are nanoseconds."""

    omitempty: ClassVar = _fields(
        "durable_name name description opt_start_seq opt_start_time ack_wait max_deliver backoff"
        " filter_subject filter_subjects rate_limit_bps sample_freq max_waiting max_ack_pending"
        " flow_control headers_only max_batch max_expires max_bytes deliver_subject deliver_group"
        " idle_heartbeat inactive_threshold mem_storage direct sourcing metadata pause_until"
        " priority_groups priority_policy priority_timeout"
    )

    durable_name: str = ""
    name: str = ""
    description: str = ""
    deliver_policy: DeliverPolicy = "all"
    opt_start_seq: Unsigned = 0
    opt_start_time: str | None = None
    ack_policy: AckPolicy = "none"
    ack_wait: Signed = 0
    max_deliver: Signed = 0
    backoff: list[Signed] | None = None
    filter_subject: str = ""
    filter_subjects: list[str] | None = None
    replay_policy: Literal["instant", "original"] = "instant"
    rate_limit_bps: Unsigned = 0
    sample_freq: str = ""
    max_waiting: Signed = 0
    max_ack_pending: Signed = 0
    flow_control: bool = False
    headers_only: bool = False
    max_batch: Signed = 0
    max_expires: Signed = 0
    max_bytes: Signed = 0
    deliver_subject: str = ""
    deliver_group: str = ""
    idle_heartbeat: Signed = 0
    inactive_threshold: Signed = 0
    num_replicas: Signed = 0
    mem_storage: bool = False
    direct: bool = False
    sourcing: bool = False
    metadata: dict[str, str] | None = None
    pause_until: str | None = None
    priority_groups: list[str] | None = None
    priority_policy: Literal["", "none", "overflow", "pinned_client", "prioritized"] = ""
    priority_timeout: Signed = 0


class CreateConsumerRequest(Record):
    """A consumer, and what is to be done with it."""

    stream_name: str = ""
    config: ConsumerConfig = field(default_factory=ConsumerConfig)
    action: Literal["", "create", "update"] = ""
    pedantic: bool = False


class SequenceInfo(Record):
    """Where a consumer stands, in its own sequences and the stream's."""

    omitempty: ClassVar = _fields("last_active")

    consumer_seq: int = 0
    stream_seq: int = 0
    last_active: str = ""


class PriorityGroupState(Record):
    """A priority group, and who is pinned."""

    omitempty: ClassVar = _fields("pinned_client_id")

    group: str = ""
    pinned_client_id: str = ""
    pinned_ts: str = ""


class ConsumerInfo(Record, kw_only=True):
    """A consumer as the API shows it."""

    omitempty: ClassVar = _fields("cluster push_bound paused pause_remaining priority_groups")

    stream_name: str
    name: str
    created: str
    config: ConsumerConfig
    delivered: SequenceInfo
    ack_floor: SequenceInfo
    num_ack_pending: int
    num_redelivered: int
    num_waiting: int
    num_pending: int
    cluster: ClusterInfo | None = None
    push_bound: bool = False
    paused: bool = False
    pause_remaining: int = 0
    ts: str
    priority_groups: list[PriorityGroupState] | None = None


class ConsumerPauseRequest(Record):
    """Up to when a consumer delivers nothing; no time: it goes on."""

    pause_until: str = ""


class ConsumerResetRequest(Record):
    """Where a consumer begins again; 0: behind what was acknowledged."""

    seq: Unsigned = 0


class ConsumerUnpinRequest(Record):
    """The priority group whose pinned client is forgotten."""

    group: str = ""


class PagedRequest(Record):
    """Where a page begins."""

    offset: Signed = 0


class StreamInfoRequest(PagedRequest):
    """What more is told of a stream."""

    deleted_details: bool = False
    subjects_filter: str = ""


class StreamNamesRequest(PagedRequest):
    """Which streams are named."""

    subject: str = ""


class PurgeRequest(Record):
    """What is purged."""

    seq: Unsigned = 0
    filter: str = ""
    keep: Unsigned = 0


class MessageDeleteRequest(Record):
    """Which message is deleted."""

    seq: Unsigned = 0
    no_erase: bool = False


class MessageGetRequest(Record):
    """Which message is asked for."""

    seq: Unsigned = 0
    last_by_subj: str = ""
    next_by_subj: str = ""
    batch: Signed = 0
    max_bytes: Signed = 0
    start_time: str | None = None
    multi_last: list[str] | None = None
    up_to_seq: Unsigned = 0
    up_to_time: str | None = None
    no_hdr: bool = False


class LeaderStepdownRequest(Record):
    """Who is to lead."""

    placement: Placement | None = None


class RemovePeerRequest(Record):
    """Which server is to have an asset no more: its name, or its id."""

    peer: str = ""


class RemoveServerRequest(Record):
    """Which server is to belong to the meta group no more."""

    peer: str = ""
    """Its name."""
    peer_id: str = ""
    """Its id, which goes before its name."""


class ApiStats(Record):
    """Requests so far."""

    level: int
    total: int
    errors: int


class TierStats(Record, kw_only=True):
    """What an account stores of a tier, or of all."""

    memory: int = 0
    storage: int = 0
    reserved_memory: int = 0
    reserved_storage: int = 0
    streams: int = 0
    consumers: int = 0
    limits: JetStreamLimits


class AccountStats(TierStats, kw_only=True):
    """What an account stores."""

    omitempty: ClassVar = _fields("domain tiers")

    domain: str = ""
    api: ApiStats
    tiers: dict[str, TierStats] | None = None


_PLAIN: Final = frozenset({bool, int, str, type(None)})
"""What JSON has as it is: most of the fields."""


def plain(value: object) -> Any:
    """Return a record as JSON has it: its empty fields of `omitempty` left out."""
    if isinstance(value, Record):
        omitted = value.omitempty
        return {
            name: inner if type(inner) in _PLAIN else plain(inner)
            for name in value.__struct_fields__
            if (inner := getattr(value, name)) or name not in omitted
        }
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, Struct):
        return msgspec.structs.asdict(value)
    return value


def encode(document: object) -> bytes:
    """Return JSON."""
    return msgspec.json.encode(document)
