"""The engine's state: streams, commands and answers."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from framework_jetstream.consumer._machine cimport Machine
from framework_jetstream.engine._outbox cimport Outbox
from framework_jetstream.engine._port cimport framework_port
from framework_jetstream.stream._headers cimport Text
from framework_jetstream.stream._machine cimport REFUSALS, Limits, Stream


cdef enum Verb:
    # What Python asks of the engine.
    OPEN_STREAM = 1
    UPDATE_STREAM
    CLOSE_STREAM
    STREAM_STATE
    LIST_SUBJECTS
    LIST_DELETED
    PURGE
    GET_MESSAGE
    DELETE_MESSAGE
    OPEN_CONSUMER
    UPDATE_CONSUMER
    CLOSE_CONSUMER
    CONSUMER_STATE


cdef enum TagKind:
    # What a subscription of the port is for: the highest byte of its tag.
    TAG_PUBLISH = 1
    TAG_DIRECT_GET
    TAG_NEXT
    TAG_ACK
    TAG_DELIVER


cdef enum:
    NUMBERS = 16
    TAG_KIND_SHIFT = 56
    TAG_NUMBER_SHIFT = 24
    # Below it the place of a subject in its stream.


cdef struct Command:
    # What Python asks; its two texts follow.
    Command* next
    int64_t id
    int32_t verb
    uint32_t number
    # Of the stream or consumer.
    int64_t numbers[NUMBERS]
    Limits limits
    size_t lengths[2]


cdef struct Answer:
    # What the engine says to Python; bytes follow.
    Answer* next
    int64_t id
    # Of the command; negative: nobody asked, it is an event.
    int32_t status
    int64_t numbers[NUMBERS]
    size_t length


cdef struct StreamSubject:
    char* chars
    uint32_t length
    uint32_t place
    # Part of its tag.


cdef struct Request:
    # What a client asked of a pull consumer; its reply subject follows.
    Request* next
    uint64_t id
    int64_t left
    # Messages that may still come.
    int64_t bytes_left
    int64_t expires_ns
    # 0: never.
    int64_t heartbeat_ns
    int64_t beats_ns
    # When it is told that the server is there.
    uint32_t reply_length
    uint8_t has_bytes
    uint8_t no_wait
    uint8_t is_watched


cdef struct ConsumerSlot:
    # A consumer, with what stands around it.
    Machine machine
    ConsumerSlot* next
    # Of the same stream.
    ConsumerSlot* next_ready
    Slot* slot
    uint32_t number
    uint32_t waiting
    # Requests.
    Request* first
    Request* last
    uint64_t last_request
    Text name
    Text ack_prefix
    # `$JS.ACK.S.C.`
    Text deliver
    # Where it pushes; NULL: it is pulled.
    int64_t max_waiting
    int64_t max_batch
    int64_t max_expires_ns
    int64_t max_bytes
    # These four: below 1 is no limit.
    int64_t heartbeat_ns
    int64_t beats_ns
    int64_t inactive_ns
    # It goes when nobody has used it for so long; 0: never.
    int64_t active_ns
    int64_t wakes_ns
    int64_t last_delivered_ns
    # Both Unix times; 0: never.
    int64_t last_ack_ns
    uint8_t headers_only
    uint8_t is_ready
    uint8_t has_interest
    uint8_t is_stalled
    # Its receiver has much waiting.
    uint8_t is_ending


cdef struct Slot:
    # A stream, with what stands around it.
    Stream stream
    uint32_t number
    uint32_t account
    uint32_t places
    # Of subjects so far.
    uint32_t subject_count
    StreamSubject* subjects
    Text ack
    # `{"stream":"S","seq":`
    Text ack_refused
    # `,"stream":"S","seq":0}`
    int64_t expires_ns
    # Unix time at which something is too old.
    Text name
    ConsumerSlot* consumers
    uint32_t consumer_count
    Engine* engine


cdef struct Engine:
    const framework_port* port
    Outbox outbox
    Slot** slots
    # By number of the stream; NULL: it is gone.
    uint32_t slot_count
    ConsumerSlot** consumers
    # By number; NULL: it is gone.
    uint32_t consumer_room
    ConsumerSlot* ready
    # Those that may have something to deliver, in order.
    ConsumerSlot* last_ready
    Command* commands
    # A stack that Python pushes to and the engine takes whole.
    Answer* answers
    # A stack that the engine pushes to and Python takes whole.
    Answer* said
    # Answers of this turn, the last one first.
    Text refusals[REFUSALS]
    # JSON of errors of PubAcks, up to where a sequence or an id stands.
    Text refusal_ends[REFUSALS]
    uint64_t seed
    Text domain
    # Of JetStream; empty: none.
    char id_prefix[12]
    uint64_t advisories
    # So far: the rest of their ids.
    int64_t now_ns
    # Of a clock that never goes back.
    int64_t unix_ns
    int64_t wakes_ns
    # When there is something to do without being told.
    int64_t took_ns
    # When there was last something from the port.


cdef inline Slot* slot_of(Engine* engine, uint64_t number) noexcept nogil:
    """Return a stream by its number; NULL: it is gone."""
    return engine.slots[number] if number < engine.slot_count else NULL


cdef inline ConsumerSlot* consumer_of(Engine* engine, uint64_t number) noexcept nogil:
    """Return a consumer by its number; NULL: it is gone."""
    return engine.consumers[number] if number < engine.consumer_room else NULL


cdef inline void ready_add(Engine* engine, ConsumerSlot* consumer) noexcept nogil:
    """Look at the end of the turn whether a consumer has something to deliver."""
    if consumer.is_ready:
        return
    consumer.is_ready = 1
    consumer.next_ready = NULL
    if engine.last_ready != NULL:
        engine.last_ready.next_ready = consumer
    else:
        engine.ready = consumer
    engine.last_ready = consumer


cdef inline const char* command_text(Command* command, int which) noexcept nogil:
    return <char*> (command + 1) + (command.lengths[0] if which else 0)
