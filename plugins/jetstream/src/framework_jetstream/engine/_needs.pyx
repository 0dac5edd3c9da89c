"""Which messages a stream's consumers need, also those that another server leads: of these what their groups have committed."""

from libc.errno cimport ENOMEM
from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport realloc

from framework_jetstream.consumer._consumer_machine cimport machine_needs, machine_wants
from framework_jetstream.engine._doubts cimport doubts_review
from framework_jetstream.engine._filters cimport Wanting, wanting_next, wanting_of
from framework_jetstream.engine._state cimport Doubts, consumer_of, slot_of
from framework_jetstream.store._subjects cimport subject_chars

cdef uint64_t ALL = <uint64_t> -1


# ---- consumers that are led elsewhere --------------------------------------------------------------------------------------


cdef bint is_of_stream(const ConsumerSlot* consumer, const Slot* slot) noexcept nogil:
    """Whether several servers have a consumer, and it is a stream's."""
    return consumer != NULL and consumer.opened != NULL and <uint64_t> consumer.opened.numbers[0] == slot.number


cdef void consumer_followed(Engine* engine, ConsumerSlot* consumer) noexcept nogil:
    """Ask a consumer of several servers, too, what it needs; its terms and filters are there."""
    cdef Slot* slot = slot_of(engine, <uint64_t> consumer.opened.numbers[0])
    cdef Doubts* doubts
    cdef void* grown
    cdef uint32_t at, kept = 0
    if slot == NULL:
        return
    doubts = &slot.doubts
    for at in range(doubts.followed_count):
        if doubts.followed[at] != consumer.number and is_of_stream(consumer_of(engine, doubts.followed[at]), slot):
            doubts.followed[kept] = doubts.followed[at]
            kept += 1
    doubts.followed_count = kept
    if kept == doubts.followed_room:
        grown = realloc(doubts.followed, (kept * 2 + 8) * sizeof(uint32_t))
        if grown == NULL:
            engine.log.failed = ENOMEM
            return
        doubts.followed = <uint32_t*> grown
        doubts.followed_room = kept * 2 + 8
    doubts.followed[kept] = consumer.number
    doubts.followed_count += 1
    doubts_review(slot, 0, ALL)


cdef ConsumerSlot* follower_next(Slot* slot, uint32_t* at) noexcept nogil:
    """Return the next consumer of a stream that is not led here, and move behind it; NULL: there are no more."""
    cdef ConsumerSlot* consumer
    while at[0] < slot.doubts.followed_count:
        consumer = consumer_of(slot.engine, slot.doubts.followed[at[0]])
        at[0] += 1
        if is_of_stream(consumer, slot) and consumer.slot == NULL:
            return consumer
    return NULL


# ---- who needs a message ---------------------------------------------------------------------------------------------------


cdef bint is_needed(Slot* slot, const Record* record) noexcept nogil:
    """Whether a consumer that is here needs a message, as far as is known of it."""
    cdef Wanting wanting = wanting_of(slot, subject_chars(record.subject), record.subject.length)
    cdef ConsumerSlot* consumer = wanting_next(&wanting)
    cdef uint32_t at = 0
    while consumer != NULL:
        if machine_needs(&consumer.machine, record):
            return True
        consumer = wanting_next(&wanting)
    consumer = follower_next(slot, &at)
    while consumer != NULL:
        if machine_wants(&consumer.machine, subject_chars(record.subject), record.subject.length) and (
            not consumer.group.is_created or machine_needs(&consumer.machine, record)
        ):
            return True
        consumer = follower_next(slot, &at)
    return False


cdef bint _can_tell(const ConsumerSlot* consumer) noexcept nogil:
    """Whether a consumer has acknowledged all that it wants and waits for no more."""
    return consumer.group != NULL and consumer.group.is_created and not consumer.machine.is_refiltered


cdef bint was_worked_off(Slot* slot, const Record* record) noexcept nogil:
    """Whether a consumer of a work queue has acknowledged a message that nobody needs."""
    cdef Wanting wanting = wanting_of(slot, subject_chars(record.subject), record.subject.length)
    cdef ConsumerSlot* consumer = wanting_next(&wanting)
    cdef uint32_t at = 0
    if consumer == NULL:
        consumer = follower_next(slot, &at)
        while consumer != NULL and not machine_wants(&consumer.machine, subject_chars(record.subject), record.subject.length):
            consumer = follower_next(slot, &at)
    return consumer != NULL and _can_tell(consumer)
