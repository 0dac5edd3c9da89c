"""What the log hears of consumers: who leads decides at once, and the log is told what has come of it.

Acknowledgements are told in the turn that brought them, and answered when that is synced. Deliveries alone may be told later: a message
of which the log does not know is delivered once more, as the first time.
"""

from libc.stdlib cimport free, malloc, realloc

from framework_jetstream.consumer._terms cimport ACK_NONE
from framework_jetstream.consumer._state cimport state_size, state_write
from framework_jetstream.engine._answers cimport answer_made
from framework_jetstream.engine._groups cimport STATUS_NOT_STORED, group_propose, texts_add
from framework_jetstream.engine._wakes cimport consumer_wake_at
from framework_jetstream.log._log cimport LOG_BUSY, LogPart
from framework_jetstream.log._record cimport CONSUMER

cdef enum:
    TELL_NS = 200000000
    # Deliveries are told at latest so long after them.
    TOUCHED_MAX = 16384
    # Then all that waits is told instead.


cdef void consumer_change(Engine* engine, ConsumerSlot* consumer) noexcept nogil:
    """Tell the log of a consumer at the end of this turn."""
    if consumer.is_changed or consumer.group == NULL:
        return
    consumer.is_changed = 1
    consumer.next_changed = engine.changed
    engine.changed = consumer


cdef void _touch(Engine* engine, ConsumerSlot* consumer, uint64_t seq) noexcept nogil:
    cdef void* grown
    if consumer.touched_count and consumer.touched[consumer.touched_count - 1] == seq:
        return
    if consumer.touched_count == consumer.touched_room:
        grown = NULL
        if consumer.touched_count < TOUCHED_MAX:
            grown = realloc(consumer.touched, (consumer.touched_room * 2 + 64) * sizeof(uint64_t))
        if grown == NULL:
            consumer.is_whole_due = 1
            consumer.touched_count = 0
            consumer_change(engine, consumer)
            return
        consumer.touched = <uint64_t*> grown
        consumer.touched_room = consumer.touched_room * 2 + 64
    consumer.touched[consumer.touched_count] = seq
    consumer.touched_count += 1


cdef void consumer_touch(Engine* engine, ConsumerSlot* consumer, uint64_t seq) noexcept nogil:
    """Remember that something has changed of a message: it was delivered, or acknowledged."""
    if consumer.group == NULL:
        return
    if consumer.machine.terms.ack_policy != ACK_NONE and not consumer.is_whole_due:
        _touch(engine, consumer, seq)
    elif consumer.machine.unheard:
        # Nobody got some that are not the last ones: they stand in no order with the others.
        consumer.is_whole_due = 1
    if consumer.tells_ns == 0:
        consumer.tells_ns = engine.now_ns + TELL_NS
        consumer_wake_at(engine, consumer, consumer.tells_ns)


cdef bint consumer_owe(Engine* engine, ConsumerSlot* consumer, Text reply) noexcept nogil:
    """Answer an acknowledgement when the log has it; False: it can be answered at once."""
    if consumer.group == NULL:
        return False
    return texts_add(&consumer.owed, &consumer.owed_length, &consumer.owed_room, reply.chars, reply.length)


cdef bint _tell(Engine* engine, ConsumerSlot* consumer) noexcept nogil:
    """Propose what has changed; False: the log has no room now."""
    cdef bint is_whole = consumer.is_whole_due
    cdef char* state = <char*> malloc(state_size(&consumer.machine, consumer.touched_count, is_whole))
    cdef LogPart part
    cdef uint64_t index
    if state == NULL:
        return False
    part.chars = state
    part.goes_on = False
    part.length = <uint32_t> state_write(
        &consumer.machine, consumer.touched, consumer.touched_count, is_whole, consumer.last_delivered_ns, consumer.last_ack_ns, state
    )
    index = group_propose(engine, consumer.group, CONSUMER, &part, 1, consumer.opening, consumer.owed, consumer.owed_length)
    free(state)
    if index == 0:
        if consumer.opening != NULL and (engine.log.failed or engine.log.refused != LOG_BUSY):
            answer_made(engine, consumer.opening.id, STATUS_NOT_STORED, 0)
            free(consumer.opening)
            consumer.opening = NULL
        return False
    if is_whole:
        consumer.group.saved_at = index
        consumer.group.saved_in = engine.log.file.number
    consumer.opening = NULL
    consumer.owed_length = 0
    consumer.touched_count = 0
    consumer.is_whole_due = 0
    consumer.tells_ns = 0
    return True


cdef void consumers_tell(Engine* engine) noexcept nogil:
    """Tell the log of all consumers that have changed; those for which it has no room wait."""
    cdef ConsumerSlot* consumer
    while engine.changed != NULL:
        consumer = engine.changed
        if not _tell(engine, consumer):
            return
        engine.changed = consumer.next_changed
        consumer.is_changed = 0


cdef void consumers_tell_all(Engine* engine) noexcept nogil:
    """Tell the log of deliveries as well: at the end."""
    cdef uint32_t at
    for at in range(engine.consumer_room):
        if engine.consumers[at] != NULL and engine.consumers[at].tells_ns:
            consumer_change(engine, engine.consumers[at])
    consumers_tell(engine)


cdef void consumer_leave_log(Engine* engine, ConsumerSlot* consumer) noexcept nogil:
    """Tell the log no more of a consumer, which goes."""
    cdef ConsumerSlot** at = &engine.changed
    if consumer.is_changed:
        while at[0] != consumer:
            at = &at[0].next_changed
        at[0] = consumer.next_changed
    if consumer.opening != NULL:
        answer_made(engine, consumer.opening.id, STATUS_NOT_STORED, 0)
        free(consumer.opening)
    if consumer.group != NULL:
        consumer.group.consumer = NULL
    free(consumer.touched)
    free(consumer.owed)
