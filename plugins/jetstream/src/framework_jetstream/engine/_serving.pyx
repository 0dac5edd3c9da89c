"""What clients reach of a stream: its subjects and direct gets; where several servers have it, at the one that leads."""

from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memchr, memcmp, memcpy

from framework_jetstream.engine._accounts cimport slot_count_in, slot_count_out
from framework_jetstream.engine._direct cimport direct_end, direct_serve
from framework_jetstream.engine._staging cimport staging_drop
from framework_jetstream.engine._state cimport TAG_KIND_SHIFT, TAG_NUMBER_SHIFT, TAG_PUBLISH, StreamSubject, command_text
from framework_jetstream.engine._stream_commands cimport slot_expire
from framework_jetstream.sourcing._inputs cimport inputs_leave


cdef Text text_copied(const char* chars, size_t length) noexcept nogil:
    """Return a copy of a text; without memory it is NULL, and empty."""
    cdef Text made
    cdef char* room = <char*> malloc(length + 1)
    made.chars = room
    made.length = <uint32_t> length if room != NULL else 0
    if room != NULL:
        memcpy(room, chars, length)
    return made


cdef int64_t _tag(int64_t kind, Slot* slot, uint32_t place) noexcept nogil:
    return kind << TAG_KIND_SHIFT | <int64_t> slot.number << TAG_NUMBER_SHIFT | place


cdef bint follow_subjects(Engine* engine, Slot* slot, const char* chars, size_t length) noexcept nogil:
    """Subscribe to subjects, one a line, and to no others; False: no memory."""
    cdef const char* end = chars + length
    cdef const char* line_end
    cdef uint32_t at, kept = 0
    cdef StreamSubject* subjects = NULL
    cdef StreamSubject* made
    cdef uint32_t count = 0
    while chars < end:
        line_end = <const char*> memchr(chars, c"\n", end - chars)
        if line_end == NULL:
            line_end = end
        made = <StreamSubject*> realloc(subjects, (count + 1) * sizeof(StreamSubject))
        if made == NULL:
            return False
        subjects = made
        made = &subjects[count]
        count += 1
        made.length = <uint32_t> (line_end - chars)
        made.chars = NULL
        for at in range(slot.subject_count):
            if slot.subjects[at].chars != NULL and slot.subjects[at].length == made.length and memcmp(
                slot.subjects[at].chars, chars, made.length
            ) == 0:
                made[0] = slot.subjects[at]
                slot.subjects[at].chars = NULL
                break
        if made.chars == NULL:
            made.chars = <char*> text_copied(chars, made.length).chars
            made.place = slot.places
            slot.places += 1
            if made.chars != NULL:
                engine.port.subscribe(
                    engine.port.self, slot.account, made.chars, made.length, NULL, 0, _tag(TAG_PUBLISH, slot, made.place)
                )
        chars = line_end + 1
    for kept in range(slot.subject_count):
        if slot.subjects[kept].chars != NULL:
            engine.port.unsubscribe(engine.port.self, _tag(TAG_PUBLISH, slot, slot.subjects[kept].place))
            free(slot.subjects[kept].chars)
    free(slot.subjects)
    slot.subjects = subjects
    slot.subject_count = count
    return True


cdef void follow_direct(Engine* engine, Slot* slot, bint wanted) noexcept nogil:
    """Serve direct gets, or no more."""
    if slot.is_direct == wanted:
        return
    slot.is_direct = wanted
    if wanted:
        direct_serve(engine, slot, slot.name, 0)
    else:
        direct_end(engine, slot, 0)


cdef void slot_serve(Engine* engine, Slot* slot, Command* command) noexcept nogil:
    """Let clients reach a stream: the command's first number is the account, its second text has the subjects."""
    slot_enter(engine, slot, command)
    follow_subjects(engine, slot, command_text(command, 1), command.lengths[1])
    if slot.stream.limits.allow_direct:
        follow_direct(engine, slot, True)
    slot_expire(engine, slot)


cdef void slot_enter(Engine* engine, Slot* slot, Command* command) noexcept nogil:
    """Let a stream be its account's."""
    slot.account = <uint32_t> command.numbers[0]
    slot.is_restored = 0
    # It could not be saved before, however much of it was in memory.
    engine.spill_above = 0
    slot_count_in(engine, slot)


cdef void slot_lead(Engine* engine, Slot* slot) noexcept nogil:
    """Let clients reach a stream of several servers here."""
    if slot.opened != NULL:
        slot_serve(engine, slot, slot.opened)


cdef void slot_follow(Engine* engine, Slot* slot) noexcept nogil:
    """Let clients reach a stream of several servers here no more, and forget what was not proposed."""
    follow_subjects(engine, slot, NULL, 0)
    inputs_leave(engine, slot)
    slot_count_out(slot)
    staging_drop(engine, slot)
    slot.removals_length = 0
    slot.is_expiring = 0
