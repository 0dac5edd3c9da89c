"""A consumer's state as the log has it: all of it, or what has changed since the log was told last.

    head    where the consumer stands; it replaces what was said before
    rows    messages that wait to be acknowledged, or were given up; one with no deliveries waits no more, unless nobody got it
    skip    what is left of the last messages of subjects, in a whole state: sequences

All numbers little-endian. What can be found out from the stream is not there: how much is pending, and which messages are gone.
"""

from libc.stdint cimport uint16_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from framework_jetstream.consumer._seqs cimport seqs_add, seqs_has, seqs_remove
from framework_jetstream.consumer._consumer_machine cimport (
    Pending, machine_drop, machine_drop_from, machine_drop_to, machine_find, machine_wait_for,
)

cdef enum:
    VERSION = 2
    # 1 had no messages that nobody got: they were rows of one delivery.
    GIVEN_UP = 1
    UNHEARD = 2
    # It waits to be delivered for the first time.
    REFILTERED = 1


cdef packed struct StateHead:
    uint16_t version
    uint16_t is_whole
    uint32_t row_count
    uint32_t skip_count
    uint32_t flags
    uint64_t cursor
    uint64_t delivered_seq
    uint64_t consumer_seq
    uint64_t floor_seq
    uint64_t floor_consumer_seq
    uint64_t skip_end
    int64_t delivered_ns
    int64_t acked_ns


cdef packed struct StateRow:
    uint64_t seq
    uint64_t consumer_seq
    uint32_t deliveries
    uint32_t flags


cdef size_t state_size(Machine* machine, uint32_t touched, bint is_whole) noexcept nogil:
    """Return how many bytes a state has at most."""
    cdef size_t rows = machine.pending_live + machine.exceeded.count if is_whole else touched
    cdef size_t skips = machine.skip_count - machine.skip_at if is_whole else 0
    return sizeof(StateHead) + rows * sizeof(StateRow) + skips * sizeof(uint64_t)


cdef void _row(char** to, StateHead* head, uint64_t seq, const Pending* pending, bint is_given_up) noexcept nogil:
    cdef StateRow row
    row.seq = seq
    row.consumer_seq = pending.consumer_seq if pending != NULL else 0
    row.deliveries = pending.deliveries if pending != NULL else is_given_up
    row.flags = GIVEN_UP if is_given_up else UNHEARD if pending != NULL and pending.deliveries == 0 else 0
    memcpy(to[0], &row, sizeof(row))
    to[0] += sizeof(row)
    head.row_count += 1


cdef size_t state_write(
    Machine* machine, const uint64_t* touched, uint32_t count, bint is_whole, int64_t delivered_ns, int64_t acked_ns, char* to
) noexcept nogil:
    """Write a state; return its bytes.

    Args:
        touched: Sequences of which something has changed; without meaning where `is_whole`.
        delivered_ns: Unix time of the last delivery; 0: there was none. `acked_ns` is that of the last acknowledgement.
    """
    cdef StateHead head
    cdef Pending* pending
    cdef char* at = to + sizeof(head)
    cdef uint32_t number
    memset(&head, 0, sizeof(head))
    head.version = VERSION
    head.is_whole = is_whole
    head.flags = REFILTERED if machine.is_refiltered else 0
    head.cursor = machine.cursor
    head.delivered_seq = machine.delivered_seq
    head.consumer_seq = machine.consumer_seq
    head.floor_seq = machine.floor_seq
    head.floor_consumer_seq = machine.floor_consumer_seq
    head.skip_end = machine.skip_end
    head.delivered_ns = delivered_ns
    head.acked_ns = acked_ns
    if is_whole:
        for number in range(machine.pending_first, machine.pending_end):
            if not machine.pending[number].is_gone:
                _row(&at, &head, machine.pending[number].seq, &machine.pending[number], False)
        for number in range(machine.exceeded.count):
            _row(&at, &head, machine.exceeded.seqs[number], NULL, True)
        head.skip_count = machine.skip_count - machine.skip_at
        memcpy(at, machine.skip + machine.skip_at, head.skip_count * sizeof(uint64_t))
        at += head.skip_count * sizeof(uint64_t)
    else:
        for number in range(count):
            pending = machine_find(machine, touched[number])
            # What was given up may be below the floor.
            if pending != NULL or touched[number] > machine.floor_seq or machine.terms.max_deliver > 0:
                _row(&at, &head, touched[number], pending, seqs_has(&machine.exceeded, touched[number]))
    memcpy(to, &head, sizeof(head))
    return at - to


cdef bint _read_skips(Machine* machine, const char* source, const StateHead* head) noexcept nogil:
    free(machine.skip)
    machine.skip_at = 0
    machine.skip_count = 0
    machine.skip = <uint64_t*> malloc((head.skip_count + 1) * sizeof(uint64_t))
    if machine.skip == NULL:
        return False
    memcpy(machine.skip, source, head.skip_count * sizeof(uint64_t))
    machine.skip_count = head.skip_count
    return True


cdef bint state_read(Machine* machine, const char* source, size_t length, int64_t* delivered_ns, int64_t* acked_ns) noexcept nogil:
    """Let a consumer stand where a state says; False: no memory, or it makes no sense."""
    cdef StateHead head
    cdef StateRow row
    cdef Pending* pending
    cdef uint32_t at
    if length < sizeof(head):
        return False
    memcpy(&head, source, sizeof(head))
    if length != sizeof(head) + <size_t> head.row_count * sizeof(row) + <size_t> head.skip_count * sizeof(uint64_t):
        return False
    if not 1 <= head.version <= VERSION:
        return False
    if head.is_whole:
        machine_drop_to(machine, <uint64_t> -1)
        machine.exceeded.count = 0
        if not _read_skips(machine, source + sizeof(head) + head.row_count * sizeof(row), &head):
            return False
    machine.is_refiltered = machine.is_refiltered or head.flags & REFILTERED != 0
    machine.delivered_seq = head.delivered_seq
    machine.consumer_seq = head.consumer_seq
    for at in range(head.row_count):
        memcpy(&row, source + sizeof(head) + at * sizeof(row), sizeof(row))
        pending = machine_find(machine, row.seq)
        seqs_remove(&machine.exceeded, row.seq)
        if row.flags & GIVEN_UP or (row.deliveries == 0 and not row.flags & UNHEARD):
            if row.flags & GIVEN_UP and not seqs_add(&machine.exceeded, row.seq):
                return False
            if pending != NULL:
                machine_drop(machine, pending)
            continue
        if pending == NULL:
            pending = machine_wait_for(machine, row.seq)
        if pending == NULL:
            return False
        pending.consumer_seq = row.consumer_seq
        machine.unheard += (row.deliveries == 0) - (pending.deliveries == 0)
        pending.deliveries = row.deliveries
    if not head.is_whole:
        machine_drop_to(machine, head.floor_seq)
    # Deliveries that were taken back.
    machine_drop_from(machine, head.cursor)
    machine.cursor = head.cursor
    machine.skip_end = head.skip_end
    machine.floor_seq = head.floor_seq
    machine.floor_consumer_seq = head.floor_consumer_seq
    delivered_ns[0] = head.delivered_ns
    acked_ns[0] = head.acked_ns
    return True


cdef bint state_is_whole(const char* source) noexcept nogil:
    """Whether a state that was read has all of a consumer."""
    return (<const StateHead*> source).is_whole != 0


cdef uint64_t state_next_done(const char* source, uint32_t* at) noexcept nogil:
    """Return the next message of a state that waits no more, and move behind it; 0: there is none."""
    cdef StateRow row
    while at[0] < (<const StateHead*> source).row_count:
        memcpy(&row, source + sizeof(StateHead) + at[0] * sizeof(row), sizeof(row))
        at[0] += 1
        if row.deliveries == 0 and row.flags == 0:
            return row.seq
    return 0
