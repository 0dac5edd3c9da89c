"""The C face of the consumer machine; see `_machine.pyx`."""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from framework_jetstream.consumer._seqs cimport Seqs
from framework_jetstream.consumer._terms cimport ConsumerTerms
from framework_jetstream.stream._headers cimport Text
from framework_jetstream.stream._machine cimport Stream
from framework_jetstream.stream._messages cimport Record


cdef struct Pending:
    # A message that was delivered and not acknowledged yet.
    uint64_t seq
    uint64_t consumer_seq
    # Of its first delivery.
    int64_t deadline_ns
    # When it is delivered again.
    uint64_t turn
    # Of those that are queued: the lowest is delivered first. Of others the consumer's sequence of their last delivery.
    uint32_t deliveries
    # 0: nobody got it yet.
    uint16_t step
    # From the message that was delivered for the first time before it; 0: that is not known.
    uint8_t is_gone
    uint8_t is_queued


cdef struct Machine:
    ConsumerTerms terms
    Stream* stream
    Text* filters
    uint32_t filter_count
    # 0: all subjects.
    uint64_t cursor
    # The next sequence that is looked at.
    uint64_t delivered_seq
    uint64_t consumer_seq
    # Of the last delivery.
    uint64_t newest_consumer_seq
    # Of the last message that was new; 0: that is not known. Where messages wait, those know it themselves.
    Seqs returned
    # Of deliveries that nobody got and that others followed.
    uint64_t delivered_before
    # What `delivered_seq` was before it; NOT_KNOWN, too. Where messages wait, those know it themselves.
    uint64_t floor_seq
    uint64_t floor_consumer_seq
    uint64_t num_pending
    # Messages that match and were never delivered, but for those that nobody got and that wait.
    Pending* pending
    # In order of sequences, with some that are gone.
    uint32_t pending_first
    uint32_t pending_end
    uint32_t pending_room
    uint32_t pending_live
    uint32_t queued
    # Of them, to be delivered again at once.
    uint32_t unheard
    # Of those, delivered and got by nobody: they are pending as if they had never been delivered.
    uint64_t turns
    Seqs exceeded
    # Messages that were delivered as often as they may be and never acknowledged.
    void (*gave_up)(Machine* machine, uint64_t seq, uint32_t deliveries) noexcept nogil
    # Called when a message becomes one of them; NULL: nobody listens.
    uint64_t* skip
    # Last messages of subjects, for DELIVER_LAST_PER_SUBJECT; then nothing below `skip_end` is delivered but these.
    uint32_t skip_at
    uint32_t skip_count
    uint64_t skip_end
    uint8_t is_refiltered
    # Its filters were others: messages below the cursor may have been delivered to nobody.


cdef struct Delivery:
    Record record
    uint32_t deliveries
    uint64_t consumer_seq


cdef void machine_begin(Machine* machine, Stream* stream) noexcept nogil
cdef void machine_recount(Machine* machine) noexcept nogil
cdef uint64_t machine_reset(Machine* machine, uint64_t seq) noexcept nogil
cdef void machine_free(Machine* machine) noexcept nogil
cdef void machine_settle(Machine* machine, Stream* stream, int64_t now_ns) noexcept nogil
cdef Pending* machine_find(Machine* machine, uint64_t seq) noexcept nogil
cdef Pending* machine_wait_for(Machine* machine, uint64_t seq) noexcept nogil
cdef void machine_drop(Machine* machine, Pending* gone) noexcept nogil
cdef void machine_drop_from(Machine* machine, uint64_t seq) noexcept nogil
cdef void machine_drop_to(Machine* machine, uint64_t seq) noexcept nogil
cdef bint machine_wants(Machine* machine, const char* subject, size_t length) noexcept nogil
cdef bint machine_has_strays(Machine* machine) noexcept nogil
cdef bint machine_needs(Machine* machine, const Record* record) noexcept nogil
cdef uint64_t machine_pending(const Machine* machine) noexcept nogil
cdef uint64_t machine_ack_pending(const Machine* machine) noexcept nogil
cdef bint machine_has_more(Machine* machine) noexcept nogil
cdef bint machine_is_full(Machine* machine) noexcept nogil
cdef uint64_t machine_redelivered(Machine* machine) noexcept nogil
cdef bint machine_next(Machine* machine, Delivery* delivery, int64_t now_ns) noexcept nogil
cdef Record machine_peek(Machine* machine) noexcept nogil
cdef void machine_appended(Machine* machine, const Record* record) noexcept nogil
cdef void machine_removing(Machine* machine, const Record* record) noexcept nogil
cdef void machine_rest(Machine* machine) noexcept nogil
cdef void machine_purged(Machine* machine) noexcept nogil
cdef bint machine_ack(Machine* machine, uint64_t seq) noexcept nogil
cdef bint machine_nak(Machine* machine, uint64_t seq, int64_t at_ns) noexcept nogil
cdef int64_t machine_waited(Machine* machine, const Pending* pending, int64_t now_ns) noexcept nogil
cdef bint machine_in_progress(Machine* machine, uint64_t seq, int64_t now_ns) noexcept nogil
cdef int64_t machine_expire(Machine* machine, int64_t now_ns) noexcept nogil
cdef void machine_undo(Machine* machine, uint64_t seq) noexcept nogil
