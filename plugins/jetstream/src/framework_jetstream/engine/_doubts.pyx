"""What streams of several servers could do without: nobody here needs it, but is everybody here?

Who leads a stream alone decides what goes, and proposes it (OP_REMOVE): so no two servers can differ. It has what the groups of its
consumers have committed; where it leads a consumer too, what that has decided. What they know less of is kept a little longer.

A consumer that was made a moment ago may not have been heard of here. So before a message of a stream with interest goes, the meta group's
leader is asked how far its entries go (thesis 6.4), and when that much is applied here Python is asked which consumers there are. What was
stored before the question goes if all of them are here, and none needs it. Of a work queue whatever its consumer has acknowledged goes.

Who begins to lead looks at all messages, a part with each question.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memmove

from framework_jetstream.engine._answers cimport answer_made
from framework_jetstream.engine._groups cimport CARRIED_OUT, STATUS_NOT_THERE, group_leads, group_of
from framework_jetstream.engine._needs cimport is_needed, is_of_stream, was_worked_off
from framework_jetstream.engine._retention cimport removal_add
from framework_jetstream.engine._state cimport (
    CONTROL_EVENTS_SHIFT, DOUBTS_READ, DOUBTS_REST, DOUBTS_TOLD, EVENT_UNSURE, Answer, Doubts, Group, command_text, slot_of,
)
from framework_jetstream.engine._wakes cimport wake_at
from framework_jetstream.raft._reads cimport read_begin
from framework_jetstream.raft._state cimport LEADER
from framework_jetstream.replication._replica_ids cimport ids_find
from framework_jetstream.replication._replicas cimport Replica
from framework_jetstream.replication._schedule cimport replica_touch
from framework_jetstream.stream._machine cimport RETENTION_INTEREST, RETENTION_LIMITS
from framework_jetstream.stream._messages cimport Record, messages_get, messages_next

cdef enum:
    REVIEWED_MAX = 8192
    # Messages that are looked at with one question.
    ANSWER_NS = 500000000
    # So long an answer is waited for.
    AGAIN_NS = 50000000
    # Between questions, where a consumer was not here.

# ---- doubts ----------------------------------------------------------------------------------------------------------------


cdef bint _asks(const Slot* slot) noexcept nogil:
    """Whether a stream keeps for several servers what somebody needs, and this one decides."""
    return (
        slot.group != NULL and slot.group.replica != NULL and slot.stream.limits.retention != RETENTION_LIMITS
        and group_leads(slot.group)
    )


cdef void _list(Slot* slot) noexcept nogil:
    if not slot.doubts.is_listed:
        slot.doubts.is_listed = 1
        slot.doubts.next = slot.engine.doubting
        slot.engine.doubting = slot


cdef bint doubts_add(Slot* slot, uint64_t seq) noexcept nogil:
    """Take up a message that nobody here needs; False: that is enough for it to go."""
    cdef Doubts* doubts = &slot.doubts
    cdef void* grown
    if slot.group.replica == NULL or slot.stream.limits.retention != RETENTION_INTEREST:
        return False
    if doubts.count == doubts.room:
        grown = realloc(doubts.seqs, (doubts.room * 2 + 64) * sizeof(uint64_t))
        if grown == NULL:
            # It is looked at with all others.
            doubts_review(slot, seq, seq + 1)
            return True
        doubts.seqs = <uint64_t*> grown
        doubts.room = doubts.room * 2 + 64
    doubts.seqs[doubts.count] = seq
    doubts.count += 1
    _list(slot)
    return True


cdef bint doubts_review(Slot* slot, uint64_t begin, uint64_t end) noexcept nogil:
    """Look at messages from a sequence on, up to before another one; False: others do, or nobody does."""
    cdef Doubts* doubts = &slot.doubts
    if not _asks(slot):
        return False
    end = min(end, slot.stream.messages.last_seq + 1)
    if begin < end:
        if doubts.review_at >= doubts.review_end:
            doubts.review_at = begin
            doubts.review_end = end
        else:
            doubts.review_at = min(doubts.review_at, begin)
            doubts.review_end = max(doubts.review_end, end)
        # What is asked already is not about this.
        doubts.asked_end = 0
        _list(slot)
    return True


cdef void doubts_drop(Slot* slot) noexcept nogil:
    """Decide no more: another server leads the stream."""
    slot.doubts.count = slot.doubts.asked = 0
    slot.doubts.review_at = slot.doubts.review_end = slot.doubts.asked_end = 0
    slot.doubts.question = 0


cdef void doubts_free(Engine* engine, Slot* slot) noexcept nogil:
    cdef Slot** at = &engine.doubting
    if slot.doubts.is_listed:
        while at[0] != slot:
            at = &at[0].doubts.next
        at[0] = slot.doubts.next
    free(slot.doubts.followed)
    free(slot.doubts.seqs)


# ---- what goes -------------------------------------------------------------------------------------------------------------


cdef void _settle(Slot* slot) noexcept nogil:
    """Let go what was asked about, and nobody needs: all of the stream's consumers are here."""
    cdef Doubts* doubts = &slot.doubts
    cdef bint is_queue = slot.stream.limits.retention != RETENTION_INTEREST
    cdef uint32_t looked_at = 0
    cdef size_t at
    cdef Record record
    for at in range(doubts.asked):
        record = messages_get(&slot.stream.messages, doubts.seqs[at])
        if record.seq and not is_needed(slot, &record):
            removal_add(slot, record.seq)
    doubts.count -= doubts.asked
    memmove(doubts.seqs, doubts.seqs + doubts.asked, doubts.count * sizeof(uint64_t))
    doubts.asked = 0
    while looked_at < REVIEWED_MAX and doubts.review_at < doubts.asked_end:
        record = messages_next(&slot.stream.messages, doubts.review_at)
        if record.seq == 0 or record.seq >= doubts.asked_end:
            doubts.review_at = doubts.asked_end
            return
        if not is_needed(slot, &record) and (not is_queue or was_worked_off(slot, &record)):
            removal_add(slot, record.seq)
        doubts.review_at = record.seq + 1
        looked_at += 1


cdef bint _has_doubts(const Slot* slot) noexcept nogil:
    return slot.doubts.count > 0 or slot.doubts.review_at < slot.doubts.review_end


# ---- questions -------------------------------------------------------------------------------------------------------------


cdef bint _are_open(Engine* engine) noexcept nogil:
    """Settle what need not be asked, and forget who has no doubts any more; True: something is to be asked."""
    cdef Slot** link = &engine.doubting
    cdef Slot* slot
    cdef bint found = False
    while link[0] != NULL:
        slot = link[0]
        if _asks(slot) and (engine.controls == NULL or slot.stream.limits.retention != RETENTION_INTEREST):
            slot.doubts.asked = slot.doubts.count
            slot.doubts.asked_end = slot.doubts.review_end
            _settle(slot)
            if _has_doubts(slot):
                wake_at(engine, engine.now_ns)
        elif not _asks(slot):
            doubts_drop(slot)
        else:
            found = found or _has_doubts(slot)
        if _has_doubts(slot):
            link = &slot.doubts.next
        else:
            slot.doubts.is_listed = 0
            link[0] = slot.doubts.next
    return found


cdef void _ask(Engine* engine) noexcept nogil:
    """Ask how far the meta group's entries go; what has been stored so far is what the question is about."""
    cdef Slot* slot = engine.doubting
    engine.doubts_question += 1
    engine.doubts_index = 0
    engine.doubts_until_ns = engine.now_ns + ANSWER_NS
    replica_touch(engine.replicas, engine.controls.replica)
    if not read_begin(engine.controls.replica.raft, engine.doubts_question):
        engine.doubts_until_ns = engine.now_ns + AGAIN_NS
        return
    engine.doubts_stage = DOUBTS_READ
    if engine.controls.replica.raft.role == LEADER:
        # It may have answered itself.
        wake_at(engine, engine.now_ns)
    while slot != NULL:
        slot.doubts.asked = slot.doubts.count
        slot.doubts.asked_end = slot.doubts.review_end
        slot.doubts.question = engine.doubts_question
        slot = slot.doubts.next


cdef void _take_answers(Engine* engine) noexcept nogil:
    """Take what the meta group's leader says."""
    cdef size_t at
    for at in range(engine.replicas.answer_count):
        if engine.doubts_stage == DOUBTS_READ and engine.replicas.answers[at].read.id == engine.doubts_question:
            engine.doubts_index = engine.replicas.answers[at].read.index
            if not engine.doubts_index:
                engine.doubts_stage = DOUBTS_REST
                engine.doubts_until_ns = engine.now_ns + AGAIN_NS
    engine.replicas.answer_count = 0


cdef void _tell(Engine* engine) noexcept nogil:
    """Ask Python which consumers there are, behind the entries that it has to know for that."""
    cdef Slot* slot = engine.doubting
    cdef Answer* told
    engine.doubts_stage = DOUBTS_TOLD
    engine.doubts_left = 0
    while slot != NULL:
        if slot.doubts.question == engine.doubts_question:
            told = answer_made(engine, -<int64_t> ((<uint64_t> 1 << CONTROL_EVENTS_SHIFT) + engine.controls.control), EVENT_UNSURE, 0)
            if told != NULL:
                told.numbers[0] = slot.number
                told.numbers[1] = <int64_t> engine.doubts_question
                engine.doubts_left += 1
        slot = slot.doubts.next


cdef bint _are_here(Engine* engine, Slot* slot, const Command* command) noexcept nogil:
    """Whether all consumers are here that a command names."""
    cdef const char* ids = command_text(<Command*> command, 0)
    cdef Replica* replica
    cdef Group* group
    cdef uint64_t id
    cdef size_t at
    for at in range(command.lengths[0] // sizeof(id)):
        memcpy(&id, ids + at * sizeof(id), sizeof(id))
        replica = <Replica*> ids_find(&engine.replicas.ids, id)
        group = group_of(engine, replica.number) if replica != NULL else NULL
        if group == NULL or not is_of_stream(group.consumer, slot):
            return False
    return True


cdef int doubts_answered(Engine* engine, Command* command) noexcept nogil:
    """Take which consumers a stream has, and settle what was asked about; CARRIED_OUT."""
    cdef Slot* slot = slot_of(engine, command.number)
    answer_made(engine, command.id, 0 if slot != NULL else STATUS_NOT_THERE, 0)
    if engine.doubts_stage != DOUBTS_TOLD or <uint64_t> command.numbers[0] != engine.doubts_question:
        return CARRIED_OUT
    engine.doubts_left -= 1
    if engine.doubts_left == 0:
        engine.doubts_stage = DOUBTS_REST
        engine.doubts_until_ns = 0
    if slot == NULL or slot.doubts.question != engine.doubts_question or not _asks(slot):
        return CARRIED_OUT
    slot.doubts.question = 0
    if _are_here(engine, slot, command):
        _settle(slot)
    elif engine.doubts_stage == DOUBTS_REST:
        engine.doubts_until_ns = engine.now_ns + AGAIN_NS
    return CARRIED_OUT


cdef void doubts_turn(Engine* engine) noexcept nogil:
    """Ask, and take what is answered."""
    if engine.replicas == NULL:
        return
    _take_answers(engine)
    if engine.doubting == NULL:
        return
    if engine.doubts_stage != DOUBTS_REST and engine.now_ns >= engine.doubts_until_ns:
        engine.doubts_stage = DOUBTS_REST
    if engine.doubts_stage == DOUBTS_READ and engine.doubts_index and engine.controls.replica.raft.applied >= engine.doubts_index:
        _tell(engine)
    if _are_open(engine) and engine.doubts_stage == DOUBTS_REST and engine.now_ns >= engine.doubts_until_ns:
        _ask(engine)
