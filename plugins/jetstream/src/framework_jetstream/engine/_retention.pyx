"""What streams keep only until it was acknowledged: by all consumers that want it (`interest`), or by the one (`workqueue`).

A message that its consumer need not acknowledge goes when somebody has got it. Who publishes hears of messages that nobody got, in order:
behind deliveries of a turn goes a *fence*, a message to an account that there is not, and when that is answered all before it is known.
In files all removals are entries of the log, made of what a turn has gathered; where several servers have a stream, see `_doubts.pyx`.

Source: nats-server `stream.go`, `ackMsg`, `checkForInterest`; `consumer.go`, `cleanupNoInterestMessages`, `processAckMsg`.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memmove

from framework_jetstream.consumer._consumer_machine cimport machine_ack, machine_wants
from framework_jetstream.consumer._state cimport state_is_whole, state_next_done
from framework_jetstream.consumer._terms cimport ACK_EXPLICIT, ACK_NONE
from framework_jetstream.engine._doubts cimport doubts_add, doubts_review
from framework_jetstream.engine._filters cimport Wanting, wanting_next, wanting_of
from framework_jetstream.engine._groups cimport CARRIED_KEPT, group_leads
from framework_jetstream.engine._needs cimport follower_next, is_needed
from framework_jetstream.engine._operations cimport OP_REMOVE, operation_propose
from framework_jetstream.engine._outbox cimport outbox_add
from framework_jetstream.engine._port cimport framework_message
from framework_jetstream.engine._state cimport Leaving, slot_of
from framework_jetstream.stream._headers cimport Text
from framework_jetstream.stream._machine cimport RETENTION_INTEREST, RETENTION_LIMITS, stream_delete, stream_purge
from framework_jetstream.stream._messages cimport Record, messages_get, messages_next

cdef enum:
    REMOVALS_BYTES_MAX = 262144
    # In one entry.

cdef uint32_t NO_ACCOUNT = <uint32_t> 0xffffffff
cdef uint64_t ALL = <uint64_t> -1


cdef void removal_add(Slot* slot, uint64_t seq) noexcept nogil:
    """Remember to remove a message by the log: what a stream in files has follows from it alone."""
    cdef Engine* engine = slot.engine
    cdef void* grown
    if slot.removals_length == slot.removals_room:
        grown = realloc(slot.removals, slot.removals_room * 2 + 512)
        if grown == NULL:
            return
        slot.removals = <char*> grown
        slot.removals_room = slot.removals_room * 2 + 512
    memcpy(slot.removals + slot.removals_length, &seq, 8)
    slot.removals_length += 8
    if not slot.is_removing:
        slot.is_removing = 1
        slot.next_removing = engine.removing
        engine.removing = slot


cdef void removals_propose(Engine* engine) noexcept nogil:
    """Propose to remove what was gathered; what the log has no room for waits."""
    cdef Slot* slot
    cdef Text seqs
    while engine.removing != NULL:
        slot = engine.removing
        seqs.chars = slot.removals
        seqs.length = <uint32_t> min(slot.removals_length, <size_t> REMOVALS_BYTES_MAX)
        # Where another server leads meanwhile there is nothing left.
        if seqs.length and operation_propose(engine, slot, OP_REMOVE, 0, 0, seqs, NULL) != CARRIED_KEPT:
            return
        slot.removals_length -= seqs.length
        memmove(slot.removals, slot.removals + seqs.length, slot.removals_length)
        if slot.removals_length == 0:
            engine.removing = slot.next_removing
            slot.is_removing = 0


cdef void removals_forget(Engine* engine, Slot* slot) noexcept nogil:
    """Remove nothing more of a stream, which goes."""
    cdef Slot** at = &engine.removing
    if slot.is_removing:
        while at[0] != slot:
            at = &at[0].next_removing
        at[0] = slot.next_removing
    free(slot.removals)


cdef void _release(Slot* slot, uint64_t seq) noexcept nogil:
    """Remove a message that no consumer needs."""
    cdef Record record = messages_get(&slot.stream.messages, seq)
    if record.seq == 0 or is_needed(slot, &record):
        return
    if slot.group == NULL:
        stream_delete(&slot.stream, seq)
    elif group_leads(slot.group) and not doubts_add(slot, seq):
        removal_add(slot, seq)


cdef bint retention_ack(Engine* engine, ConsumerSlot* consumer, uint64_t seq) noexcept nogil:
    """Take an acknowledgement, and remove what nobody needs any more; False: the message does not wait for one."""
    cdef Slot* slot = consumer.slot
    cdef uint64_t at = consumer.machine.floor_seq + 1
    cdef Record record
    if not machine_ack(&consumer.machine, seq):
        return False
    if slot.stream.limits.retention == RETENTION_LIMITS:
        return True
    if consumer.machine.terms.ack_policy == ACK_EXPLICIT:
        _release(slot, seq)
        return True
    record = messages_next(&slot.stream.messages, at)
    while record.seq and record.seq <= seq:
        at = record.seq
        _release(slot, at)
        record = messages_next(&slot.stream.messages, at + 1)
    return True


cdef void retention_delivered(Engine* engine, ConsumerSlot* consumer, uint64_t seq) noexcept nogil:
    """Let a message go that was delivered to a consumer, if nobody need acknowledge it."""
    cdef void* grown
    if consumer.machine.terms.ack_policy != ACK_NONE or consumer.slot.stream.limits.retention == RETENTION_LIMITS:
        return
    if engine.leaving_count == engine.leaving_room:
        grown = realloc(engine.leaving, (engine.leaving_room * 2 + 64) * sizeof(Leaving))
        if grown == NULL:
            return
        engine.leaving = <Leaving*> grown
        engine.leaving_room = engine.leaving_room * 2 + 64
    engine.leaving[engine.leaving_count].slot = consumer.slot.number
    engine.leaving[engine.leaving_count].seq = seq
    engine.leaving[engine.leaving_count].fence = engine.fences + 1
    engine.leaving_count += 1
    engine.wants_fence = True


cdef void retention_fence(Engine* engine) noexcept nogil:
    """Publish a fence behind what was delivered in this turn."""
    cdef framework_message* message = outbox_add(&engine.outbox, NO_ACCOUNT, b"fence", 5)
    if message == NULL:
        return
    engine.wants_fence = False
    engine.fences += 1
    message.asks = 1
    # No consumer has the number 0.
    message.token = <int64_t> engine.fences


cdef void retention_sweep(Engine* engine) noexcept nogil:
    """Remove what somebody has got, and nobody needs."""
    cdef uint32_t at = 0
    cdef Slot* slot
    while at < engine.leaving_count and engine.leaving[at].fence <= engine.fences_answered:
        slot = slot_of(engine, engine.leaving[at].slot)
        if slot != NULL:
            _release(slot, engine.leaving[at].seq)
        at += 1
    engine.leaving_count -= at
    memmove(engine.leaving, engine.leaving + at, engine.leaving_count * sizeof(Leaving))


cdef void retention_review(Slot* slot, uint64_t seq) noexcept nogil:
    """Remove what nobody needs from a sequence on, where consumers have gone or want less. Cost: O(messages x consumers)."""
    cdef Record record
    if slot.stream.limits.retention != RETENTION_INTEREST:
        return
    if slot.group != NULL and slot.group.replica != NULL:
        doubts_review(slot, seq, ALL)
        return
    if slot.consumers == NULL and slot.group == NULL:
        stream_purge(&slot.stream, NULL, 0, 0, 0)
        return
    if slot.consumers == NULL:
        seq = 0
    record = messages_next(&slot.stream.messages, seq)
    while record.seq:
        seq = record.seq
        _release(slot, seq)
        record = messages_next(&slot.stream.messages, seq + 1)


cdef void retention_stored(Slot* slot, uint64_t seq) noexcept nogil:
    """Let a message of a stream in files go that nobody wants."""
    if slot.stream.limits.retention == RETENTION_INTEREST and slot.group != NULL and not slot.engine.is_replaying:
        _release(slot, seq)


cdef bint retention_wants(Stream* stream, const char* subject, size_t length) noexcept nogil:
    """Whether a consumer wants messages of a subject."""
    cdef Slot* slot = <Slot*> stream.owner
    cdef Wanting wanting = wanting_of(slot, subject, length)
    cdef ConsumerSlot* consumer = wanting_next(&wanting)
    cdef uint32_t at = 0
    if consumer == NULL:
        consumer = follower_next(slot, &at)
        while consumer != NULL and not machine_wants(&consumer.machine, subject, length):
            consumer = follower_next(slot, &at)
    return consumer != NULL


cdef void retention_told(Engine* engine, ConsumerSlot* consumer, uint64_t floor_seq, const char* state) noexcept nogil:
    """Let go what the group of a consumer that another server leads has said to be acknowledged.

    Args:
        floor_seq: Of the consumer, before the state was read.
    """
    cdef Slot* slot = slot_of(engine, <uint64_t> consumer.opened.numbers[0]) if consumer.opened != NULL else NULL
    cdef uint32_t at = 0
    cdef uint64_t seq
    if slot == NULL or slot.stream.limits.retention == RETENTION_LIMITS or slot.group == NULL or not group_leads(slot.group):
        return
    if state_is_whole(state):
        doubts_review(slot, floor_seq + 1, consumer.machine.cursor)
        return
    # What is below the floor is not named.
    doubts_review(slot, floor_seq + 1, consumer.machine.floor_seq + 1)
    seq = state_next_done(state, &at)
    while seq:
        _release(slot, seq)
        seq = state_next_done(state, &at)
