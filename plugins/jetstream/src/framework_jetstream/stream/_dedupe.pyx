"""The ids of messages that were published lately, in the order of their times: what comes again is not stored again."""

from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memset

from framework.sublist._bytes cimport hash_bytes
from framework.sublist._table cimport table_clear, table_find, table_make, table_remove


cdef uint64_t dedupe_find(Dedupe* dedupe, const char* id, size_t length) noexcept nogil:
    """Return the sequence of the message with an id; 0: none is remembered."""
    cdef MessageId* found = <MessageId*> table_find(&dedupe.ids, hash_bytes(dedupe.seed, id, length), id, length)
    return found.seq if found != NULL else 0


cdef void dedupe_add(Dedupe* dedupe, const char* id, size_t length, uint64_t seq, int64_t time_ns) noexcept nogil:
    """Remember an id that is not remembered."""
    cdef MessageId* made = <MessageId*> table_make(
        &dedupe.ids, sizeof(MessageId), 0, id, length, hash_bytes(dedupe.seed, id, length)
    )
    if made == NULL:
        return
    made.seq = seq
    made.time_ns = time_ns
    if dedupe.last != NULL:
        dedupe.last.next = made
    else:
        dedupe.first = made
    dedupe.last = made


cdef void dedupe_expire(Dedupe* dedupe, int64_t before_ns) noexcept nogil:
    """Forget ids that are older than a time."""
    cdef MessageId* gone
    while dedupe.first != NULL and dedupe.first.time_ns < before_ns:
        gone = dedupe.first
        dedupe.first = gone.next
        if dedupe.first == NULL:
            dedupe.last = NULL
        table_remove(&dedupe.ids, &gone.key)
        free(gone)


cdef void dedupe_free(Dedupe* dedupe) noexcept nogil:
    cdef MessageId* gone
    while dedupe.first != NULL:
        gone = dedupe.first
        dedupe.first = gone.next
        free(gone)
    table_clear(&dedupe.ids)
    memset(dedupe, 0, sizeof(Dedupe))
