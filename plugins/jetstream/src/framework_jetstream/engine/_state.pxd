"""The engine's state: streams, commands and answers."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

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


cdef struct Engine:
    const framework_port* port
    Outbox outbox
    Slot** slots
    # By number of the stream; NULL: it is gone.
    uint32_t slot_count
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
    int64_t now_ns
    # Of a clock that never goes back.
    int64_t unix_ns
    int64_t wakes_ns
    # When there is something to do without being told.


cdef inline Slot* slot_of(Engine* engine, uint64_t number) noexcept nogil:
    """Return a stream by its number; NULL: it is gone."""
    return engine.slots[number] if number < engine.slot_count else NULL


cdef inline const char* command_text(Command* command, int which) noexcept nogil:
    return <char*> (command + 1) + (command.lengths[0] if which else 0)
