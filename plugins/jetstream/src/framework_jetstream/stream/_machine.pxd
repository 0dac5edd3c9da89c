"""The C face of the stream machine; see `_machine.pyx`."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from framework_jetstream.raft._digests cimport Digests
from framework_jetstream.sourcing._marks cimport Marks
from framework_jetstream.stream._batches cimport Batches
from framework_jetstream.stream._dedupe cimport Dedupe
from framework_jetstream.stream._fast_batches cimport FastBatches
from framework_jetstream.stream._headers cimport PublishHeaders, Text
from framework_jetstream.stream._messages cimport Messages, Record
from framework_jetstream.stream._subject_terms cimport Room, SubjectTerms
from framework_jetstream.stream._ttls cimport Ttls


cdef enum Refusal:
    # Why a message is not stored; `engine/refusals.py` has their errors in this order.
    STORED = 0
    SEALED
    HEADER_TOO_LARGE
    MESSAGE_TOO_LARGE
    TTL_DISABLED
    TTL_UNREADABLE
    COUNTER_DISABLED
    ATOMIC_DISABLED
    SCHEDULES_DISABLED
    SOURCE_NOT_ALLOWED
    WRONG_STREAM
    WRONG_LAST_SEQ
    WRONG_LAST_SEQ_CONSTANT
    WRONG_LAST_MSG_ID
    LAST_SUBJECT_SEQ_MISSING
    ROLLUP_NOT_PERMITTED
    ROLLUP_INVALID
    MAX_MSGS_REACHED
    MAX_BYTES_REACHED
    MAX_MSGS_PER_SUBJECT_REACHED
    NO_MEMORY
    STORAGE_EXHAUSTED
    # The disk is full, the log has ended, or the server has as much as it may: decided before anything is proposed.
    ACCOUNT_EXHAUSTED
    # The account has: decided then, too.
    INCR_INVALID
    INCR_MISSING
    INCR_WITH_PAYLOAD
    COUNTER_BROKEN
    BATCH_SEQ_MISSING
    BATCH_INCOMPLETE
    BATCH_UNSUPPORTED_HEADER
    BATCH_ID_INVALID
    BATCH_TOO_LARGE
    BATCH_COMMIT_INVALID
    BATCH_DUPLICATE
    BATCH_TOO_MANY
    BATCH_LEVEL
    BATCH_ROLLUP_SUB
    BATCH_ROLLUP_ALL
    SCHEDULE_PATTERN_INVALID
    SCHEDULE_TARGET_INVALID
    SCHEDULE_TTL_INVALID
    SCHEDULE_ROLLUP_INVALID
    SCHEDULE_SOURCE_INVALID
    SCHEDULER_INVALID
    SCHEDULE_ZONE_INVALID
    FAST_DISABLED
    FAST_PATTERN_INVALID
    FAST_ID_INVALID
    FAST_UNKNOWN
    FAST_TOO_MANY
    OFFLINE
    # Its storage kind fails: decided before anything is proposed.
    REFUSALS
    OUT_OF_ORDER
    # One that came before it from the same source was not stored: nobody is told.


cdef enum Giver:
    # Who gives a message to a stream.
    GIVEN_BY_CLIENT = 0
    GIVEN_BY_SOURCE
    GIVEN_BY_ORIGIN
    # Of a mirror: sequence and time stay.


cdef enum Mark:
    # What the proposer of a message says of it, for it follows from no entry.
    MARK_SERVER_FULL = 1
    MARK_ACCOUNT_FULL = 2
    MARK_BATCH_LARGE = 4
    MARK_BATCHES_FULL = 8
    MARK_ZONE_UNKNOWN = MARK_BATCH_LARGE | MARK_BATCHES_FULL
    # Of a schedule. No batch is both, and one with such a schedule is refused as well.


cdef enum Retention:
    RETENTION_LIMITS = 0
    RETENTION_INTEREST
    RETENTION_WORKQUEUE


cdef enum Reads:
    # Who answers direct gets of a stream that several servers have; 0: nobody does.
    READS_OF_ANY = 1
    READS_OF_LEADER = 2
    # While it is certain that nobody else leads.


cdef struct Limits:
    # What of a stream's configuration decides on messages; counts and sizes below 1: no limit.
    int64_t max_msgs
    int64_t max_bytes
    int64_t max_age_ns
    int64_t max_msgs_per_subject
    int64_t max_msg_size
    int64_t duplicate_window_ns
    uint8_t retention
    uint8_t discard_new
    uint8_t discard_new_per_subject
    uint8_t sealed
    uint8_t allow_rollup
    uint8_t no_ack
    uint8_t allow_direct
    # One of `Reads`.
    uint8_t allow_ttl
    uint8_t allow_counter
    uint8_t allow_atomic
    uint8_t allow_schedules
    uint8_t allow_batched
    int64_t api_level
    # Of this server: batches that need more are refused.
    int64_t marker_ttl_ns
    # Of what is left behind of a subject whose last message was too old; 0: nothing is.
    SubjectTerms* subject_terms
    # NULL: nothing is said of them.
    uint8_t is_compressed
    # In segments; decides nothing else.
    uint32_t storage_kind
    # Who keeps its segments; 0: this server's folder. Decides nothing else.


cdef struct Publish:
    # A message as it was published.
    Text subject
    Text header
    Text payload
    uint8_t marks
    # Of `Mark`.
    Text reply
    # Where it says something of the message itself; NULL: nowhere.
    uint8_t giver
    # By a stream elsewhere; the rest is said of its messages only.
    uint8_t is_first
    # Of a consumer there: what came before it is not looked at.
    uint32_t input
    # That it came by, until this server ends.
    uint64_t seq
    # There.
    uint64_t previous_seq
    # Of the message that came before it.
    int64_t time_ns
    # When it was stored there.


cdef enum FlowKind:
    # What is said to a client in the midst of its batch.
    FLOW_GAP = 1
    # Something has not come: the sequence that was expected, and the one that came.
    FLOW_ACK
    # How far it is, and how often it is told.
    FLOW_ERROR
    # The sequence of a message that is refused.
    FLOW_DONE
    # That all is stored: the stream's sequence of the last message, and how many there are.


cdef enum:
    FLOWS_MAX = 4


cdef struct Flow:
    uint64_t first
    uint64_t second
    uint8_t kind


cdef struct Outcome:
    # What became of it.
    int32_t refusal
    uint8_t is_duplicate
    uint64_t seq
    # Its own, that of the message that it repeats, or what an error shows.
    Text shown
    # By an error, or by a counter: what it has come to; valid until the stream changes.
    uint8_t is_staged
    # It waits until the batch that it belongs to is committed.
    uint8_t abandoned
    # An `Abandoned`: why its batch is forgotten; 0: it is not.
    uint64_t batch_count
    # Messages of the batch that it has committed; 0: none.
    Text batch_id
    Flow[FLOWS_MAX] flows
    # Said in this order.
    uint8_t flow_count
    uint8_t is_silent
    # Nothing else is said.


cdef struct Stream:
    Limits limits
    Messages messages
    Dedupe dedupe
    Ttls ttls
    Batches batches
    FastBatches fast_batches
    Ttls schedules
    # When the messages that are schedules fire.
    Room[2] header_rooms
    # Of the message that is being stored, where it is stored otherwise than it came.
    Room subject_room
    Room payload_room
    Marks sources
    char* last_id
    # Id of the last message; NULL: it has none.
    uint32_t last_id_length
    uint32_t name_length
    const char* name
    void (*appended)(Stream* stream, const Record* record) noexcept nogil
    # Called when a message has come, before limits remove others, or itself; NULL: nobody listens.
    void (*removing)(Stream* stream, const Record* record) noexcept nogil
    # Called before a message goes; NULL: nobody listens.
    bint (*wanted)(Stream* stream, const char* subject, size_t length) noexcept nogil
    # Whether a consumer wants messages of a subject; NULL: none does.
    void (*stored)(Stream* stream, const Publish* message, uint64_t seq, uint64_t before, int64_t time_ns) noexcept nogil
    # Called when a message was stored and limits are kept; `before` is the sequence of the last one with its subject. NULL: nobody listens.
    void* owner
    Digests* digests
    # Its owner's; NULL: this server alone has the stream.
    uint32_t losses
    # How often damage has taken messages: what comes next of a source may follow on what nobody knows any more.
    uint32_t origin_losses
    # Of them, those before the last message of the origin that is mirrored.
    uint8_t stores_all
    # Even what nobody wants: what is stored follows from the log alone, consumers are told of elsewhere.


cdef void stream_begin(
    Stream* stream, const Limits* limits, const char* name, uint32_t name_length, uint64_t seed, bint is_file, uint64_t first_seq
) noexcept nogil
cdef void stream_free(Stream* stream) noexcept nogil
cdef void stream_publish(Stream* stream, const Publish* publish, int64_t now_ns, Outcome* outcome) noexcept nogil
cdef int stream_store(Stream* stream, Publish* message, PublishHeaders* headers, int64_t now_ns, Outcome* outcome) noexcept nogil
cdef bint stream_put(Stream* stream, const Publish* publish, uint64_t seq, int64_t time_ns) noexcept nogil
cdef void stream_set_limits(Stream* stream, const Limits* limits, int64_t now_ns) noexcept nogil
cdef uint64_t stream_purge(Stream* stream, const char* pattern, size_t length, uint64_t seq, uint64_t keep) noexcept nogil
cdef bint stream_delete(Stream* stream, uint64_t seq) noexcept nogil
cdef uint64_t stream_last_seq_of(Stream* stream, const char* pattern, size_t length) noexcept nogil
cdef void message_transform(Stream* stream, Publish* message, int64_t now_ns) noexcept nogil
cdef Limits limits_made(dict fields)
