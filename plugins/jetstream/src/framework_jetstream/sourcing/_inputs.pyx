"""The sources of a stream, and the origin of a mirror, as the engine has them: followed, answered, lost, ended.

An input follows one consumer elsewhere until something is wrong with that; then it takes nothing more, and Python, which is told,
makes another consumer. Flow control is answered when what came before it is stored: a consumer that acknowledges by it loses nothing.

Source: nats-server `stream.go`, `handleFlowControl`, `processStalledFlowControl`, `cancelSourceInfo`.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from framework_jetstream.engine._answers cimport answer_made
from framework_jetstream.engine._direct cimport direct_end
from framework_jetstream.engine._outbox cimport outbox_add, outbox_chars
from framework_jetstream.engine._port cimport framework_message
from framework_jetstream.engine._state cimport (
    EVENT_SOURCE_LOST, LOSS_REFUSED, LOSS_SILENCE, SOURCE_EVENTS_SHIFT, TAG_KIND_SHIFT, TAG_NUMBER_SHIFT, TAG_SOURCE, Answer, input_of,
)
from framework_jetstream.engine._statuses cimport STATUS_BYTES, status_end, write_number
from framework_jetstream.engine._wakes cimport wake_at
from framework_jetstream.sourcing._marks cimport Mark, SourceHeader, marks_find
from framework_jetstream.sourcing._programs cimport programs_free

cdef enum:
    ROW_NUMBERS = 5


cdef int64_t input_tag(const Input* input) noexcept nogil:
    """Return the tag of its subscription: another one for each consumer that it follows."""
    return (
        <int64_t> TAG_SOURCE << TAG_KIND_SHIFT | <int64_t> input.number << TAG_NUMBER_SHIFT | <int64_t> (input.run & 0xffffff)
    )


# ---- being lost ----------------------------------------------------------------------------------------------------------


cdef void input_leave(Engine* engine, Input* input) noexcept nogil:
    """Take nothing more from the consumer that is followed."""
    if input.is_followed:
        engine.port.unsubscribe(engine.port.self, input_tag(input))
    input.is_followed = 0
    free(<void*> input.owed.chars)
    memset(&input.owed, 0, sizeof(input.owed))


cdef void input_lose(Engine* engine, Input* input, int64_t loss) noexcept nogil:
    """Follow a consumer no more, and tell it; `loss` is a `SourceLoss`."""
    cdef Answer* answer
    if not input.is_followed:
        return
    input_leave(engine, input)
    answer = answer_made(engine, -(<int64_t> 1 << SOURCE_EVENTS_SHIFT) - <int64_t> input.number, EVENT_SOURCE_LOST, 0)
    if answer != NULL:
        answer.numbers[0] = loss


cdef void input_refused(Engine* engine, Slot* slot, uint32_t number) noexcept nogil:
    """The stream has not stored a message: those behind it are not stored either, until it comes again."""
    cdef Input* input = NULL if engine.is_replaying else input_of(engine, number)
    if input != NULL and input.slot == slot:
        input_lose(engine, input, LOSS_REFUSED)


cdef void inputs_expire(Engine* engine) noexcept nogil:
    """Lose the consumers of which nothing is heard, and wake up for the others."""
    cdef uint32_t at
    cdef Input* input
    for at in range(engine.input_room):
        input = engine.inputs[at]
        if input == NULL or not input.is_followed:
            continue
        if input.heard_ns + SILENCE_NS <= engine.now_ns:
            input_lose(engine, input, LOSS_SILENCE)
        else:
            wake_at(engine, input.heard_ns + SILENCE_NS)


# ---- flow control --------------------------------------------------------------------------------------------------------


cdef void _answer(Engine* engine, Input* input) noexcept nogil:
    """Tell the consumer how far its messages are stored."""
    cdef framework_message* message = outbox_add(&engine.outbox, input.slot.account, input.owed.chars, input.owed.length)
    cdef char* chars = outbox_chars(&engine.outbox, STATUS_BYTES)
    cdef uint32_t used = 10
    free(<void*> input.owed.chars)
    memset(&input.owed, 0, sizeof(input.owed))
    if message == NULL or chars == NULL:
        return
    memcpy(chars, b"NATS/1.0\r\n", 10)
    used += write_number(chars + used, b"Nats-Last-Consumer: ", 20, input.owed_consumer_seq)
    used += write_number(chars + used, b"Nats-Last-Stream: ", 18, input.owed_stream_seq)
    message.header = chars
    status_end(message, chars, used)


cdef void input_owe(Engine* engine, Input* input, Text reply) noexcept nogil:
    """Answer flow control as soon as all that came so far is stored; an older question is forgotten."""
    cdef Slot* slot = input.slot
    cdef char* copy = <char*> malloc(reply.length + 1)
    free(<void*> input.owed.chars)
    memset(&input.owed, 0, sizeof(input.owed))
    if copy == NULL:
        return
    memcpy(copy, reply.chars, reply.length)
    input.owed.chars = copy
    input.owed.length = reply.length
    input.owed_stream_seq = input.stream_seq
    input.owed_consumer_seq = input.consumer_seq
    input.owed_behind = 0
    if slot.group != NULL:
        input.owed_behind = slot.group.proposed + (1 if slot.staging.piece_count else 0)
    if slot.group == NULL or slot.group.applied >= input.owed_behind:
        _answer(engine, input)


cdef void inputs_applied(Engine* engine, Slot* slot) noexcept nogil:
    """Answer flow control that has waited for the entry that was applied."""
    cdef Input* input = slot.inputs
    while input != NULL:
        if input.owed.chars != NULL and input.owed_behind <= slot.group.applied:
            _answer(engine, input)
        input = input.next


# ---- ending and saying how they are --------------------------------------------------------------------------------------


cdef void input_close(Engine* engine, Input* input) noexcept nogil:
    """End a source."""
    cdef Input** at = &input.slot.inputs
    input_leave(engine, input)
    if input.has_direct:
        direct_end(engine, input.slot, DIRECT_PLACE)
    while at[0] != input:
        at = &at[0].next
    at[0] = input.next
    engine.inputs[input.number] = NULL
    programs_free(input.programs)
    free(<void*> input.name.chars)
    free(<void*> input.rest.chars)
    free(<void*> input.consumer.chars)
    free(<void*> input.ident.chars)
    free(input)


cdef void inputs_leave(Engine* engine, Slot* slot) noexcept nogil:
    """Take nothing more for a stream that another server leads."""
    cdef Input* input = slot.inputs
    while input != NULL:
        input_leave(engine, input)
        input = input.next


cdef void inputs_close(Engine* engine, Slot* slot) noexcept nogil:
    while slot.inputs != NULL:
        input_close(engine, slot.inputs)


cdef uint64_t input_stored(const Input* input) noexcept nogil:
    """Return the last sequence there that is stored here; 0: nothing is."""
    cdef SourceHeader source
    cdef const Mark* mark
    if input.is_mirror:
        return input.slot.stream.messages.last_seq
    memset(&source, 0, sizeof(source))
    source.stream = input.name
    source.rest = input.rest
    mark = marks_find(&input.slot.stream.sources, &source)
    return mark.seq if mark != NULL else 0


cdef size_t inputs_size(Slot* slot) noexcept nogil:
    """Return how many bytes `inputs_write` writes."""
    cdef size_t count = 0
    cdef Input* input = slot.inputs
    while input != NULL:
        count += 1
        input = input.next
    return count * ROW_NUMBERS * 8


cdef void inputs_write(Engine* engine, Slot* slot, char* to) noexcept nogil:
    """Write of each source: number, messages to come, last sequence that is stored, nanoseconds since it was heard (-1: never), stalls."""
    cdef int64_t[ROW_NUMBERS] row
    cdef Input* input = slot.inputs
    while input != NULL:
        row[0] = input.number
        row[1] = <int64_t> input.pending
        row[2] = <int64_t> input_stored(input)
        row[3] = engine.now_ns - input.heard_ns if input.heard_ns else -1
        row[4] = input.stalls
        memcpy(to, row, sizeof(row))
        to += sizeof(row)
        input = input.next
