"""What Python asks of the sources of a stream: to have one, to say how far it is stored, to follow a consumer elsewhere, and to end.

Each command comes behind all that was proposed to the stream before it, so how far a source is stored is what it says.

Source: nats-server `stream.go`, `setupMirrorConsumer`, `trySetupSourceConsumer`.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy, memset

from framework_jetstream.engine._answers cimport answer_bytes, answer_made
from framework_jetstream.engine._direct cimport direct_end
from framework_jetstream.engine._groups cimport CARRIED_OUT, STATUS_NO_ROOM, STATUS_NOT_LEADER, STATUS_NOT_THERE, group_leads
from framework_jetstream.engine._operations cimport OP_SKIP, operation_propose
from framework_jetstream.engine._state cimport (
    CLOSE_SOURCE, FOLLOW_SOURCE, OPEN_SOURCE, SOURCE_STATE, Answer, Input, command_text, input_of, slot_of,
)
from framework_jetstream.engine._wakes cimport wake_at
from framework_jetstream.sourcing._inputs cimport DIRECT_PLACE, SILENCE_NS, input_close, input_leave, input_stored, input_tag
from framework_jetstream.sourcing._marks cimport Mark, SourceHeader, marks_find
from framework_jetstream.sourcing._programs cimport programs_free
from framework_jetstream.stream._headers cimport Text
from framework_jetstream.stream._messages cimport Messages, messages_skip_to


cdef bint _copy(Text* to, Command* command, int which) noexcept nogil:
    """Keep a text of a command in place of another one; False: no memory."""
    cdef char* made = <char*> malloc(command.lengths[which] + 1)
    if made == NULL:
        return False
    memcpy(made, command_text(command, which), command.lengths[which])
    free(<void*> to.chars)
    to.chars = made
    to.length = <uint32_t> command.lengths[which]
    return True


cdef bint _make_room(Engine* engine, uint32_t number) noexcept nogil:
    cdef uint32_t room = max(number + 1, engine.input_room * 2)
    cdef void* grown
    if number < engine.input_room:
        return True
    grown = realloc(engine.inputs, room * sizeof(Input*))
    if grown == NULL:
        return False
    engine.inputs = <Input**> grown
    while engine.input_room < room:
        engine.inputs[engine.input_room] = NULL
        engine.input_room += 1
    return True


cdef void _open(Engine* engine, Slot* slot, Command* command) noexcept nogil:
    """Let a stream have a source, or let direct gets be answered for the origin of a mirror or not."""
    cdef uint32_t number = <uint32_t> command.numbers[0]
    cdef Input* input = input_of(engine, number)
    if input == NULL:
        input = <Input*> calloc(1, sizeof(Input)) if _make_room(engine, number) else NULL
        if input == NULL or not _copy(&input.name, command, 0) or not _copy(&input.rest, command, 1):
            answer_made(engine, command.id, STATUS_NO_ROOM, 0)
            return
        input.slot = slot
        input.number = number
        input.is_mirror = command.numbers[1] != 0
        input.programs = command.programs
        command.programs = NULL
        input.next = slot.inputs
        slot.inputs = input
        engine.inputs[number] = input
    input.wants_direct = command.numbers[2] != 0
    if input.has_direct and not input.wants_direct:
        direct_end(engine, slot, DIRECT_PLACE)
        input.has_direct = 0
    answer_made(engine, command.id, 0, 0)


cdef Mark* _mark_of(const Input* input) noexcept nogil:
    """Return what is stored of a source; NULL: nothing, or it is the origin of a mirror."""
    cdef SourceHeader source
    memset(&source, 0, sizeof(source))
    source.stream = input.name
    source.rest = input.rest
    return NULL if input.is_mirror else marks_find(&input.slot.stream.sources, &source)


cdef bint _is_another(const Input* input) noexcept nogil:
    """Whether the stream there is not the one that was there when the last message was stored."""
    cdef const Mark* mark = _mark_of(input)
    if mark == NULL or mark.ident_length == 0 or input.ident.length == 0:
        return False
    return mark.ident_length != input.ident.length or memcmp(mark.chars + mark.name_length, input.ident.chars, mark.ident_length) != 0


cdef void _say_state(Engine* engine, Input* input, Command* command) noexcept nogil:
    """Answer the last sequence there that is stored here, messages, first sequence, last one, its time; bytes are the identity there."""
    cdef Messages* messages = &input.slot.stream.messages
    cdef const Mark* mark = _mark_of(input)
    cdef Answer* answer
    answer = answer_made(engine, command.id, 0, mark.ident_length if mark != NULL else 0)
    if answer == NULL:
        return
    answer.numbers[0] = <int64_t> input_stored(input)
    answer.numbers[1] = <int64_t> messages.count
    answer.numbers[2] = <int64_t> messages.first_seq
    answer.numbers[3] = <int64_t> messages.last_seq
    answer.numbers[4] = messages.last_time_ns
    if mark != NULL:
        memcpy(answer_bytes(answer), mark.chars + mark.name_length, mark.ident_length)


# ---- following -----------------------------------------------------------------------------------------------------------


cdef void _follow(Engine* engine, Input* input, Command* command) noexcept nogil:
    """Take what a consumer delivers: numbers are input and the last sequence it has passed; texts its name, where, and the identity."""
    cdef int status = 0
    input_leave(engine, input)
    if not _copy(&input.consumer, command, 0) or not _copy(&input.ident, command, 2):
        answer_made(engine, command.id, STATUS_NO_ROOM, 0)
        return
    input.run += 1
    input.is_followed = 1
    input.is_first = 1
    input.consumer_seq = 0
    input.stream_seq = <uint64_t> command.numbers[1]
    if input.is_mirror or not _is_another(input):
        # A consumer that acknowledges begins behind that, which may be less than what is stored.
        input.stream_seq = max(input.stream_seq, input_stored(input))
    input.stalls = 0
    input.heard_ns = engine.now_ns
    status = engine.port.subscribe(
        engine.port.self, input.slot.account, command_text(command, 1), <uint32_t> command.lengths[1], NULL, 0, input_tag(input)
    )
    if status:
        input.is_followed = 0
    else:
        wake_at(engine, engine.now_ns + SILENCE_NS)
    answer_made(engine, command.id, STATUS_NO_ROOM if status else 0, 0)


cdef int _follow_behind(Engine* engine, Slot* slot, Input* input, Command* command) noexcept nogil:
    """Follow a consumer when a mirror has passed over what its origin has no more; a `Carried`."""
    cdef uint64_t first = <uint64_t> command.numbers[1] + 1
    cdef Text none
    memset(&none, 0, sizeof(none))
    if not input.is_mirror or first <= slot.stream.messages.last_seq + 1:
        _follow(engine, input, command)
    elif slot.group != NULL:
        return operation_propose(engine, slot, OP_SKIP, first, 0, none, command)
    else:
        source_skipped(engine, slot, first, command)
    return CARRIED_OUT


cdef void source_skipped(Engine* engine, Slot* slot, uint64_t first, Command* command) noexcept nogil:
    """Let the next message of a mirror have this sequence at least, and follow who gives it; `command` NULL: nobody does now."""
    cdef Messages* messages = &slot.stream.messages
    cdef Input* input = NULL
    messages_skip_to(messages, first)
    if messages.count == 0:
        messages.first_seq = messages.last_seq + 1
    if command == NULL:
        return
    input = input_of(engine, <uint64_t> command.numbers[0])
    if input == NULL:
        answer_made(engine, command.id, STATUS_NOT_THERE, 0)
    else:
        _follow(engine, input, command)


# ---- all of them ---------------------------------------------------------------------------------------------------------


cdef int _carry_out(Engine* engine, Slot* slot, Command* command) noexcept nogil:
    cdef Input* input = input_of(engine, <uint64_t> command.numbers[0])
    if slot == NULL or (input == NULL and command.verb != OPEN_SOURCE):
        answer_made(engine, command.id, STATUS_NOT_THERE, 0)
    elif command.verb == OPEN_SOURCE:
        _open(engine, slot, command)
    elif command.verb == SOURCE_STATE:
        _say_state(engine, input, command)
    elif command.verb == FOLLOW_SOURCE and not group_leads(slot.group):
        answer_made(engine, command.id, STATUS_NOT_LEADER, 0)
    elif command.verb == FOLLOW_SOURCE:
        return _follow_behind(engine, slot, input, command)
    else:
        input_leave(engine, input)
        if command.verb == CLOSE_SOURCE:
            input_close(engine, input)
        answer_made(engine, command.id, 0, 0)
    return CARRIED_OUT


cdef int source_command(Engine* engine, Command* command) noexcept nogil:
    """Carry out a command to a source of a stream, and answer it; a `Carried`."""
    cdef int carried = _carry_out(engine, slot_of(engine, command.number), command)
    programs_free(command.programs)
    command.programs = NULL
    return carried
