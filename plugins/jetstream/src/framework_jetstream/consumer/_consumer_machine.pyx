"""A consumer as a machine: which message comes next, what waits to be acknowledged, what was.

It holds `num_pending` exactly: one more for each message that matches and is stored, one less at its first delivery, or when it is removed
before. What was delivered is a list in order of sequences, so the acknowledgement floor is where it begins.

What was delivered as often as it may be and never acknowledged waits no more, but is remembered: where messages stay until they are
acknowledged, these stay.

Source: nats-server `consumer.go`, `getNextMsg`, `processAckMsg`, `trackPending`, `checkPending`, `selectStartingSeqNo`, `needAck`,
`resetStartingSeq`.

Size: what is delivered, waits and was given up is one state, which every step reads whole.
"""

from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc

from framework_jetstream.consumer._seqs cimport seqs_add, seqs_free, seqs_has, seqs_remove
from framework_jetstream.consumer._terms cimport (
    ACK_ALL, ACK_EXPLICIT, ACK_FLOW_CONTROL, ACK_NONE, DELIVER_BY_START_SEQ, DELIVER_BY_START_TIME, DELIVER_LAST,
    DELIVER_LAST_PER_SUBJECT, DELIVER_NEW,
)
from framework_jetstream.store._subjects cimport (
    Subject, marks_clear, number_is_marked, pattern_matches, subject_chars, subjects_mark, subjects_next,
)
from framework_jetstream.stream._machine cimport stream_last_seq_of
from framework_jetstream.stream._messages cimport (
    Messages, messages_count_marked, messages_get, messages_last_of, messages_next_matching, messages_seq_from,
)

cdef int64_t NEVER = <int64_t> 0x7fffffffffffffff

cdef enum:
    STEP_MAX = 0xffff
    RETURNED_MAX = 4096

cdef uint64_t NOT_KNOWN = <uint64_t> -1


# ---- what it wants -----------------------------------------------------------------------------------------------------


cdef bint machine_wants(Machine* machine, const char* subject, size_t length) noexcept nogil:
    """Whether messages of a subject are delivered."""
    cdef uint32_t at
    if machine.filter_count == 0:
        return True
    for at in range(machine.filter_count):
        if pattern_matches(machine.filters[at].chars, machine.filters[at].length, subject, length):
            return True
    return False


cdef uint64_t _mark(Machine* machine) noexcept nogil:
    """Mark the subjects that it wants; return how many messages they have."""
    cdef Messages* messages = &machine.stream.messages
    cdef uint64_t count = 0
    cdef uint32_t at
    marks_clear(&messages.subjects)
    for at in range(machine.filter_count):
        count += subjects_mark(&messages.subjects, machine.filters[at].chars, machine.filters[at].length)
    if machine.filter_count == 0:
        count = subjects_mark(&messages.subjects, b">", 1)
    return count


cdef int _compare(const void* left, const void* right) noexcept nogil:
    cdef uint64_t a = (<const uint64_t*> left)[0], b = (<const uint64_t*> right)[0]
    return (a > b) - (a < b)


cdef extern from "stdlib.h" nogil:
    void qsort(void* base, size_t count, size_t size, int (*compare)(const void*, const void*) noexcept nogil)


cdef void _begin_with_last(Machine* machine) noexcept nogil:
    """Deliver the last message of each subject first."""
    cdef Messages* messages = &machine.stream.messages
    cdef Subject* subject
    cdef uint32_t at = 0
    machine.skip = <uint64_t*> malloc((messages.subjects.count + 1) * sizeof(uint64_t))
    machine.skip_end = messages.last_seq + 1
    if machine.skip == NULL:
        return
    _mark(machine)
    subject = subjects_next(&messages.subjects, &at)
    while subject != NULL:
        if number_is_marked(&messages.subjects, subject.number):
            machine.skip[machine.skip_count] = messages_last_of(messages, subject)
            machine.skip_count += 1
        subject = subjects_next(&messages.subjects, &at)
    qsort(machine.skip, machine.skip_count, sizeof(uint64_t), _compare)
    machine.num_pending = machine.skip_count
    machine.cursor = machine.skip[0] if machine.skip_count else max(messages.last_seq, <uint64_t> 1)


cdef void machine_begin(Machine* machine, Stream* stream) noexcept nogil:
    """Choose where a consumer begins; its terms and filters are there."""
    cdef Messages* messages = &stream.messages
    cdef uint64_t last = 0
    cdef uint32_t at
    machine.stream = stream
    machine.cursor = max(messages.first_seq, <uint64_t> 1)
    if machine.terms.deliver_policy == DELIVER_NEW:
        machine.cursor = messages.last_seq + 1
    elif machine.terms.deliver_policy == DELIVER_BY_START_SEQ:
        machine.cursor = max(machine.cursor, <uint64_t> machine.terms.start)
    elif machine.terms.deliver_policy == DELIVER_LAST:
        for at in range(machine.filter_count):
            last = max(last, stream_last_seq_of(stream, machine.filters[at].chars, machine.filters[at].length))
        if machine.filter_count == 0:
            last = messages.last_seq
        machine.cursor = last if last else machine.cursor
    elif machine.terms.deliver_policy == DELIVER_BY_START_TIME:
        machine.cursor = messages_seq_from(messages, machine.terms.start)
    elif machine.terms.deliver_policy == DELIVER_LAST_PER_SUBJECT:
        _begin_with_last(machine)
    if machine.terms.deliver_policy != DELIVER_BY_START_SEQ:
        machine.cursor = max(min(machine.cursor, messages.last_seq + 1), messages.first_seq)
    if machine.terms.deliver_policy != DELIVER_LAST_PER_SUBJECT:
        machine_recount(machine)
    machine.delivered_seq = machine.floor_seq = machine.cursor - 1


cdef void machine_recount(Machine* machine) noexcept nogil:
    """Count what is pending: after its filters have changed."""
    cdef Messages* messages = &machine.stream.messages
    cdef uint64_t begin = max(machine.cursor, machine.skip_end)
    cdef Record record
    cdef uint32_t at
    machine.num_pending = 0
    # What was not wanted may be now: then it stands between messages that followed each other.
    machine.delivered_before = NOT_KNOWN
    for at in range(machine.pending_first, machine.pending_end):
        machine.pending[at].step = 0
    if begin > messages.last_seq and machine.skip_at == machine.skip_count:
        return
    if machine.filter_count == 0 and begin <= messages.first_seq:
        machine.num_pending = messages.count
        return
    machine.num_pending = _mark(machine)
    if begin > messages.first_seq:
        machine.num_pending = messages_count_marked(messages, begin)
    for at in range(machine.skip_at, machine.skip_count):
        record = messages_get(messages, machine.skip[at])
        machine.num_pending += record.seq != 0 and number_is_marked(&messages.subjects, record.subject.number)


cdef void machine_free(Machine* machine) noexcept nogil:
    cdef uint32_t at
    for at in range(machine.filter_count):
        free(<void*> machine.filters[at].chars)
    free(machine.filters)
    free(machine.pending)
    seqs_free(&machine.exceeded)
    seqs_free(&machine.returned)
    free(machine.skip)
    free(machine.terms.backoff_ns)


# ---- what waits to be acknowledged ---------------------------------------------------------------------------------------


cdef Pending* machine_find(Machine* machine, uint64_t seq) noexcept nogil:
    """Return a message that waits; NULL: it does not."""
    cdef uint32_t low = machine.pending_first, high = machine.pending_end, middle
    while low < high:
        middle = low + (high - low) // 2
        if machine.pending[middle].seq < seq:
            low = middle + 1
        else:
            high = middle
    # What has come back stands behind where it was.
    while low < machine.pending_end and machine.pending[low].seq == seq:
        if not machine.pending[low].is_gone:
            return &machine.pending[low]
        low += 1
    return NULL


cdef Pending* machine_wait_for(Machine* machine, uint64_t seq) noexcept nogil:
    """Add a message behind all that wait; NULL: no memory."""
    cdef uint32_t at, kept = 0
    cdef void* grown
    cdef Pending* made
    if machine.pending_end == machine.pending_room:
        for at in range(machine.pending_first, machine.pending_end):
            if not machine.pending[at].is_gone:
                machine.pending[kept] = machine.pending[at]
                kept += 1
        machine.pending_first = 0
        machine.pending_end = kept
        if kept * 2 >= machine.pending_room:
            grown = realloc(machine.pending, (kept * 2 + 64) * sizeof(Pending))
            if grown == NULL:
                return NULL
            machine.pending = <Pending*> grown
            machine.pending_room = kept * 2 + 64
    made = &machine.pending[machine.pending_end]
    machine.pending_end += 1
    machine.pending_live += 1
    made.seq = seq
    made.is_gone = made.is_queued = 0
    made.step = 0
    made.deliveries = 1
    return made


cdef bint _acks_all(Machine* machine) noexcept nogil:
    return machine.terms.ack_policy == ACK_ALL or machine.terms.ack_policy == ACK_FLOW_CONTROL


cdef void machine_drop(Machine* machine, Pending* gone) noexcept nogil:
    """Let a message wait no more, and move the floor."""
    cdef uint64_t consumer_seq = gone.consumer_seq
    machine.queued -= gone.is_queued
    machine.unheard -= gone.deliveries == 0
    gone.is_gone = 1
    gone.is_queued = 0
    machine.pending_live -= 1
    while machine.pending_first < machine.pending_end and machine.pending[machine.pending_first].is_gone:
        machine.pending_first += 1
    # What comes back must not stand behind what came after it.
    while machine.pending_end > machine.pending_first and machine.pending[machine.pending_end - 1].is_gone:
        machine.pending_end -= 1
    if machine.pending_live == 0:
        machine.pending_first = machine.pending_end = 0
        machine.floor_consumer_seq = machine.consumer_seq
        machine.floor_seq = machine.delivered_seq
    elif consumer_seq == machine.floor_consumer_seq + 1:
        machine.floor_consumer_seq = machine.pending[machine.pending_first].consumer_seq - 1
        machine.floor_seq = machine.pending[machine.pending_first].seq - 1


cdef void machine_drop_to(Machine* machine, uint64_t seq) noexcept nogil:
    """Let no message up to a sequence wait any more."""
    while machine.pending_live and machine.pending[machine.pending_first].seq <= seq:
        machine_drop(machine, &machine.pending[machine.pending_first])


cdef void machine_drop_from(Machine* machine, uint64_t seq) noexcept nogil:
    """Let no message from a sequence on wait any more."""
    while machine.pending_live and machine.pending[machine.pending_end - 1].seq >= seq:
        machine_drop(machine, &machine.pending[machine.pending_end - 1])


cdef void machine_settle(Machine* machine, Stream* stream, int64_t now_ns) noexcept nogil:
    """Go on with a stream: forget messages that it does not have, and count what is pending.

    Args:
        now_ns: From it on acknowledgements are waited for.
    """
    cdef uint32_t at = machine.pending_first
    cdef Pending* pending
    machine.stream = stream
    while at < machine.pending_end and machine.pending_live:
        pending = &machine.pending[at]
        at += 1
        if pending.is_gone:
            continue
        if messages_get(&stream.messages, pending.seq).seq == 0:
            machine_drop(machine, pending)
        elif pending.deliveries == 0:
            _queue(machine, pending)
        else:
            pending.deadline_ns = _deadline(machine, pending.deliveries, now_ns)
    while machine.skip_at < machine.skip_count and machine.skip[machine.skip_at] < machine.cursor:
        machine.skip_at += 1
    machine_recount(machine)
    machine_purged(machine)


cdef bint machine_ack(Machine* machine, uint64_t seq) noexcept nogil:
    """Take an acknowledgement; False: the message does not wait."""
    cdef Pending* found = machine_find(machine, seq)
    cdef uint32_t at
    if not _acks_all(machine):
        if found == NULL:
            return seqs_remove(&machine.exceeded, seq)
        machine_drop(machine, found)
        return True
    if seq > machine.delivered_seq or seq <= machine.floor_seq:
        return False
    at = machine.pending_first
    while at < machine.pending_end and machine.pending[at].seq <= seq and machine.pending_live:
        if not machine.pending[at].is_gone:
            machine.floor_consumer_seq = machine.pending[at].consumer_seq - 1
            machine_drop(machine, &machine.pending[at])
        at += 1
    machine.floor_seq = seq
    while machine.exceeded.count and machine.exceeded.seqs[0] <= seq:
        seqs_remove(&machine.exceeded, machine.exceeded.seqs[0])
    return True


# ---- what nobody acknowledged ----------------------------------------------------------------------------------------------


cdef void _give_up(Machine* machine, Pending* pending) noexcept nogil:
    """Deliver a message no more."""
    cdef uint64_t seq = pending.seq
    cdef uint32_t deliveries = pending.deliveries
    machine_drop(machine, pending)
    seqs_add(&machine.exceeded, seq)
    if machine.gave_up != NULL:
        machine.gave_up(machine, seq, deliveries)


cdef bint _is_spent(Machine* machine, Pending* pending) noexcept nogil:
    return machine.terms.max_deliver > 0 and pending.deliveries >= <uint64_t> machine.terms.max_deliver


cdef uint64_t machine_redelivered(Machine* machine) noexcept nogil:
    """Return how many messages were delivered more than once and not acknowledged; none where that can't be. Cost: O(pending)."""
    cdef uint64_t count = machine.exceeded.count
    cdef uint32_t at
    if machine.terms.max_deliver == 1:
        return 0
    for at in range(machine.pending_first, machine.pending_end):
        count += not machine.pending[at].is_gone and machine.pending[at].deliveries > 1
    return count


cdef bint machine_has_strays(Machine* machine) noexcept nogil:
    """Whether a message waits that is not wanted any more, or none can say. Cost: O(pending)."""
    cdef uint32_t at
    cdef Record record
    if machine.filter_count == 0:
        return False
    if machine.exceeded.count:
        return True
    for at in range(machine.pending_first, machine.pending_end):
        if not machine.pending[at].is_gone:
            record = messages_get(&machine.stream.messages, machine.pending[at].seq)
            if record.seq and not machine_wants(machine, subject_chars(record.subject), record.subject.length):
                return True
    return False


cdef bint machine_needs(Machine* machine, const Record* record) noexcept nogil:
    """Whether a message may still be delivered, or acknowledged."""
    if not machine_wants(machine, subject_chars(record.subject), record.subject.length):
        return False
    if record.seq > machine.floor_seq:
        if machine.terms.ack_policy != ACK_EXPLICIT or record.seq >= machine.cursor:
            return True
        if machine_find(machine, record.seq) != NULL:
            return True
    return seqs_has(&machine.exceeded, record.seq)


# ---- delivering again ------------------------------------------------------------------------------------------------------


cdef void _queue(Machine* machine, Pending* pending) noexcept nogil:
    pending.is_queued = 1
    machine.queued += 1
    machine.turns += 1
    pending.turn = machine.turns


cdef bint machine_nak(Machine* machine, uint64_t seq, int64_t at_ns) noexcept nogil:
    """Deliver a message again at a time, or at once (0); False: it does not wait."""
    cdef Pending* found = machine_find(machine, seq)
    if found == NULL:
        return False
    if at_ns == 0 and not found.is_queued:
        _queue(machine, found)
    elif at_ns:
        machine.queued -= found.is_queued
        found.is_queued = 0
        found.deadline_ns = at_ns
    return True


cdef int64_t _deadline(Machine* machine, uint32_t deliveries, int64_t now_ns) noexcept nogil:
    """Return up to when an acknowledgement may come, after so many deliveries."""
    if machine.terms.backoff_count:
        return now_ns + machine.terms.backoff_ns[min(max(deliveries, <uint32_t> 1), machine.terms.backoff_count) - 1]
    return now_ns + machine.terms.ack_wait_ns if machine.terms.ack_wait_ns > 0 else NEVER


cdef int64_t machine_waited(Machine* machine, const Pending* pending, int64_t now_ns) noexcept nogil:
    """Return how long ago a message that waits was delivered for the last time, or was said to be in progress."""
    return now_ns - pending.deadline_ns + _deadline(machine, pending.deliveries, 0)


cdef bint machine_in_progress(Machine* machine, uint64_t seq, int64_t now_ns) noexcept nogil:
    """Wait longer for a message; False: it does not wait."""
    cdef Pending* found = machine_find(machine, seq)
    if found == NULL:
        return False
    found.deadline_ns = _deadline(machine, found.deliveries, now_ns)
    return True


cdef Pending* _put_back(Machine* machine, uint64_t seq) noexcept nogil:
    """Let a message wait that need not be acknowledged, in its place; NULL: no memory."""
    cdef uint32_t at
    if machine_wait_for(machine, seq) == NULL:
        return NULL
    at = machine.pending_end - 1
    while at > machine.pending_first and machine.pending[at - 1].seq > seq:
        machine.pending[at] = machine.pending[at - 1]
        at -= 1
    machine.pending[at].seq = seq
    machine.pending[at].is_gone = machine.pending[at].is_queued = 0
    machine.pending[at].step = 0
    machine.pending[at].deliveries = 1
    machine.pending[at].consumer_seq = 0
    return &machine.pending[at]


cdef uint64_t _delivered_before(Machine* machine, const Pending* last) noexcept nogil:
    """Return what was delivered before the message that was new last; NOT_KNOWN, too: others stand between."""
    cdef Record following
    if machine.terms.ack_policy != ACK_NONE:
        return last.seq - last.step if last.step and last.seq == machine.delivered_seq else NOT_KNOWN
    following = messages_next_matching(&machine.stream.messages, last.seq + 1, machine.filters, machine.filter_count)
    if following.seq and following.seq < machine.cursor:
        return NOT_KNOWN
    if machine.delivered_before == NOT_KNOWN or last.seq != machine.delivered_seq:
        return last.seq - 1
    return machine.delivered_before


cdef bint _step_back(Machine* machine) noexcept nogil:
    """Let the message that was new last be one that never was delivered, if nobody got it."""
    cdef Pending* last = &machine.pending[machine.pending_end - 1]
    cdef uint64_t seq = last.seq, before
    cdef Record record
    # Which of the last messages of subjects were delivered stands in no order of sequences.
    if last.deliveries or seq < machine.skip_end:
        return False
    before = _delivered_before(machine, last)
    record = messages_get(&machine.stream.messages, seq)
    if before == NOT_KNOWN or not machine_wants(machine, subject_chars(record.subject), record.subject.length):
        return False
    if machine.terms.ack_policy == ACK_NONE and machine.newest_consumer_seq == machine.consumer_seq:
        machine.newest_consumer_seq -= 1
        machine.consumer_seq -= 1
    machine.num_pending += 1
    machine.cursor = seq
    machine.delivered_seq = before
    machine.delivered_before = NOT_KNOWN
    machine_drop(machine, last)
    machine.floor_seq = min(machine.floor_seq, machine.delivered_seq)
    machine.floor_consumer_seq = min(machine.floor_consumer_seq, machine.consumer_seq)
    return True


cdef void _return_seq(Machine* machine, uint64_t consumer_seq) noexcept nogil:
    """Let a sequence of the consumer be given again, as soon as all that was given behind it came back, too."""
    if machine.returned.count == RETURNED_MAX:
        machine.returned.count = 0
    seqs_add(&machine.returned, consumer_seq)
    while machine.returned.count and machine.returned.seqs[machine.returned.count - 1] == machine.consumer_seq:
        machine.returned.count -= 1
        machine.consumer_seq -= 1


cdef void machine_undo(Machine* machine, uint64_t seq) noexcept nogil:
    """Take a delivery back that nobody got: it comes again at once, and does not count.

    What was new is pending again. If nothing that is new was delivered after it, all is as it was before.

    Source: nats-server `consumer.go`, `nextWaiting`, which looks for interest first; `didNotDeliver`.
    """
    cdef Pending* found = machine_find(machine, seq)
    if found == NULL and machine.terms.ack_policy == ACK_NONE and messages_get(&machine.stream.messages, seq).seq:
        found = _put_back(machine, seq)
    if found == NULL or found.is_queued or found.deliveries == 0:
        return
    found.deliveries -= 1
    if machine.terms.ack_policy != ACK_NONE:
        _return_seq(machine, found.turn)
    _queue(machine, found)
    if found.deliveries:
        return
    machine.unheard += 1
    while machine.pending_live and _step_back(machine):
        pass


cdef int64_t machine_expire(Machine* machine, int64_t now_ns) noexcept nogil:
    """Queue what was not acknowledged in time; return when the next one will be."""
    cdef uint32_t at
    cdef int64_t next_ns = NEVER
    cdef Pending* pending
    for at in range(machine.pending_first, machine.pending_end):
        pending = &machine.pending[at]
        if pending.is_gone or pending.is_queued:
            continue
        if pending.deadline_ns <= now_ns:
            if _is_spent(machine, pending):
                _give_up(machine, pending)
                continue
            _queue(machine, pending)
        elif pending.deadline_ns < next_ns:
            next_ns = pending.deadline_ns
    return next_ns


# ---- what comes next -----------------------------------------------------------------------------------------------------


cdef Record _wanted_from(Machine* machine) noexcept nogil:
    """Return the first message from the cursor on that is wanted, and move the cursor there; `seq` of it is 0: there is none."""
    cdef Messages* messages = &machine.stream.messages
    cdef Record record
    if machine.num_pending == 0:
        machine.cursor = max(machine.cursor, messages.last_seq + 1)
        return messages_get(messages, 0)
    while machine.skip_at < machine.skip_count:
        record = messages_get(messages, machine.skip[machine.skip_at])
        if record.seq:
            machine.cursor = record.seq
            return record
        machine.skip_at += 1
    record = messages_next_matching(messages, max(machine.cursor, machine.skip_end), machine.filters, machine.filter_count)
    machine.cursor = record.seq if record.seq else messages.last_seq + 1
    return record


cdef uint64_t machine_pending(const Machine* machine) noexcept nogil:
    """Return how many messages match and were delivered to nobody."""
    return machine.num_pending + machine.unheard


cdef uint64_t machine_ack_pending(const Machine* machine) noexcept nogil:
    """Return how many messages somebody got and has not acknowledged."""
    return machine.pending_live - machine.unheard


cdef bint machine_is_full(Machine* machine) noexcept nogil:
    """Whether nothing new is delivered before something is acknowledged."""
    return (
        machine.terms.ack_policy != ACK_NONE and machine.terms.max_ack_pending > 0
        and machine_ack_pending(machine) >= <uint64_t> machine.terms.max_ack_pending
    )


cdef bint machine_has_more(Machine* machine) noexcept nogil:
    """Whether something may be delivered now."""
    return machine.queued > 0 or (machine.num_pending > 0 and not machine_is_full(machine))


cdef Pending* _queued(Machine* machine) noexcept nogil:
    """Return the message that has waited longest to be delivered again; NULL: there is none. Cost: O(pending)."""
    cdef uint32_t at
    cdef Pending* found
    while machine.queued:
        found = NULL
        for at in range(machine.pending_first, machine.pending_end):
            if machine.pending[at].is_queued and (found == NULL or machine.pending[at].turn < found.turn):
                found = &machine.pending[at]
        if not _is_spent(machine, found):
            return found
        _give_up(machine, found)
    return NULL


cdef Record machine_peek(Machine* machine) noexcept nogil:
    """Return the message that `machine_next` would deliver; `seq` of it is 0: none."""
    cdef Pending* again = _queued(machine)
    if again != NULL:
        return messages_get(&machine.stream.messages, again.seq)
    return messages_get(&machine.stream.messages, 0) if machine_is_full(machine) else _wanted_from(machine)


cdef bint machine_next(Machine* machine, Delivery* delivery, int64_t now_ns) noexcept nogil:
    """Deliver the next message; False: there is none."""
    cdef Pending* pending = _queued(machine)
    cdef Record record
    if pending != NULL:
        pending.is_queued = 0
        machine.queued -= 1
        machine.unheard -= pending.deliveries == 0
        pending.deliveries += 1
        delivery.record = messages_get(&machine.stream.messages, pending.seq)
        delivery.deliveries = pending.deliveries
    else:
        if machine_is_full(machine):
            return False
        record = _wanted_from(machine)
        if record.seq == 0:
            return False
        if machine.terms.ack_policy != ACK_NONE:
            pending = machine_wait_for(machine, record.seq)
            if pending == NULL:
                return False
            pending.consumer_seq = machine.consumer_seq + 1
            if record.seq - machine.delivered_seq <= STEP_MAX and record.seq > machine.delivered_seq:
                pending.step = <uint16_t> (record.seq - machine.delivered_seq)
        machine.num_pending -= 1
        machine.newest_consumer_seq = machine.consumer_seq + 1
        machine.delivered_before = machine.delivered_seq
        machine.skip_at += machine.skip_at < machine.skip_count
        machine.cursor = record.seq + 1
        machine.delivered_seq = record.seq
        delivery.record = record
        delivery.deliveries = 1
    machine.consumer_seq += 1
    delivery.consumer_seq = machine.consumer_seq
    if machine.terms.ack_policy == ACK_NONE:
        if pending != NULL:
            machine_drop(machine, pending)
        machine.floor_consumer_seq = machine.consumer_seq
        machine.floor_seq = machine.delivered_seq
    else:
        pending.turn = machine.consumer_seq
        pending.deadline_ns = _deadline(machine, pending.deliveries, now_ns)
    return True


# ---- what happens to the stream ------------------------------------------------------------------------------------------


cdef void machine_appended(Machine* machine, const Record* record) noexcept nogil:
    """Count a message that was stored, and is wanted."""
    if record.seq >= machine.cursor:
        machine.num_pending += 1


cdef bint _is_skipped(Machine* machine, uint64_t seq) noexcept nogil:
    """Whether a message below `skip_end` is none of the last ones of their subjects that are still to come."""
    cdef uint32_t at
    if seq >= machine.skip_end:
        return False
    for at in range(machine.skip_at, machine.skip_count):
        if machine.skip[at] == seq:
            return False
    return True


cdef void machine_removing(Machine* machine, const Record* record) noexcept nogil:
    """Forget a message that goes: it is not to come any more, and nobody need acknowledge it."""
    cdef Pending* pending
    if machine.exceeded.count:
        seqs_remove(&machine.exceeded, record.seq)
    if record.seq >= machine.cursor:
        if machine_wants(machine, subject_chars(record.subject), record.subject.length) and not _is_skipped(machine, record.seq):
            machine.num_pending -= 1
        return
    if machine.pending_live:
        pending = machine_find(machine, record.seq)
        if pending != NULL:
            machine_drop(machine, pending)


cdef void machine_rest(Machine* machine) noexcept nogil:
    """Look at what comes from now on: nothing that is there is wanted."""
    if machine.num_pending == 0:
        machine.cursor = max(machine.cursor, machine.stream.messages.last_seq + 1)


cdef void machine_purged(Machine* machine) noexcept nogil:
    """Go on behind what was purged from the beginning of the stream, and behind what was looked at."""
    cdef uint64_t first = machine.stream.messages.first_seq
    machine.cursor = max(machine.cursor, first)
    machine.delivered_seq = max(machine.delivered_seq, machine.cursor - 1)
    if machine.floor_seq < first:
        machine.floor_seq = first - 1
    if machine.pending_live == 0:
        machine.floor_consumer_seq = machine.consumer_seq
        machine.floor_seq = machine.delivered_seq


cdef uint64_t machine_reset(Machine* machine, uint64_t seq) noexcept nogil:
    """Begin again at a sequence, as if nothing had been delivered; return where that is.

    Args:
        seq: 0: behind what was acknowledged.
    """
    seq = max(seq if seq else machine.floor_seq + 1, <uint64_t> 1)
    machine.pending_first = machine.pending_end = machine.pending_live = machine.queued = machine.unheard = 0
    machine.newest_consumer_seq = 0
    machine.returned.count = 0
    machine.exceeded.count = 0
    machine.skip_at = machine.skip_count = 0
    machine.skip_end = 0
    machine.cursor = seq
    machine.delivered_seq = machine.floor_seq = seq - 1
    machine.consumer_seq = machine.floor_consumer_seq = 0
    machine_recount(machine)
    return seq
