"""Which consumers of a stream want messages of a subject.

A few are asked one after the other. Where there are many, their filters stand in a sublist, so that a message costs those that want it,
and nothing for the others.
"""

from libc.stdlib cimport calloc, free

from framework.sublist._sublist cimport (
    Match, SublistState, sublist_close, sublist_insert, sublist_match, sublist_open, sublist_remove,
)
from framework_jetstream.consumer._consumer_machine cimport machine_wants

cdef enum:
    ASKED_MAX = 8
    # Consumers that are asked one after the other: that takes as long as one look into a sublist.
    CACHE_MAX = 64
    # Matches that a sublist remembers: they are as large as there are consumers that want the subject.


# ---- the index -----------------------------------------------------------------------------------------------------------


cdef void _drop(Slot* slot) noexcept nogil:
    """Do without an index."""
    cdef ConsumerSlot* consumer = slot.consumers
    if slot.filters == NULL:
        return
    sublist_close(slot.filters)
    free(slot.filters)
    slot.filters = NULL
    while consumer != NULL:
        free(consumer.filters)
        consumer.filters = NULL
        consumer = consumer.next


cdef bint _add(Slot* slot, ConsumerSlot* consumer) noexcept nogil:
    """Put the filters of a consumer into the index; False: no memory."""
    cdef uint32_t count = max(consumer.machine.filter_count, <uint32_t> 1), at
    cdef Interest* made = <Interest*> calloc(count, sizeof(Interest))
    if made == NULL:
        return False
    consumer.filters = made
    consumer.filter_count = 0
    for at in range(count):
        made[at].owner = consumer
        made[at].weight = 1
        made[at].subject = b">"
        made[at].subject_length = 1
        if consumer.machine.filter_count:
            made[at].subject = consumer.machine.filters[at].chars
            made[at].subject_length = consumer.machine.filters[at].length
        if not sublist_insert(slot.filters, &made[at]):
            return False
        consumer.filter_count += 1
    return True


cdef void _make(Slot* slot) noexcept nogil:
    """Begin with an index, if there is memory for it."""
    cdef ConsumerSlot* consumer = slot.consumers
    slot.filters = <SublistState*> calloc(1, sizeof(SublistState))
    if slot.filters == NULL:
        return
    sublist_open(slot.filters, slot.engine.seed, CACHE_MAX)
    while consumer != NULL:
        if not _add(slot, consumer):
            _drop(slot)
            return
        consumer = consumer.next


cdef void filters_join(Slot* slot, ConsumerSlot* consumer) noexcept nogil:
    """Follow a consumer of a stream, with its filters as they are now."""
    if slot.filters != NULL:
        if not _add(slot, consumer):
            _drop(slot)
    elif slot.consumer_count > ASKED_MAX:
        _make(slot)


cdef void filters_leave(Slot* slot, ConsumerSlot* consumer) noexcept nogil:
    """Follow the filters of a consumer no more: before they change, or it goes."""
    cdef uint32_t at
    if slot.filters == NULL:
        return
    for at in range(consumer.filter_count):
        sublist_remove(slot.filters, &consumer.filters[at])
    free(consumer.filters)
    consumer.filters = NULL
    consumer.filter_count = 0
    if slot.consumer_count <= 1:
        _drop(slot)


# ---- who wants a subject ---------------------------------------------------------------------------------------------------


cdef Wanting wanting_of(Slot* slot, const char* subject, size_t length) noexcept nogil:
    """Begin to look at the consumers that want a subject: no other is asked for, and none comes or goes, until the end."""
    cdef Wanting wanting
    cdef Match* match
    wanting.consumer = slot.consumers
    wanting.subject = subject
    wanting.length = length
    wanting.found = NULL
    wanting.left = 0
    if slot.filters != NULL:
        match = sublist_match(slot.filters, subject, length)
        wanting.found = match.plain
        wanting.left = match.plain_count
        wanting.consumer = NULL
    return wanting


cdef ConsumerSlot* wanting_next(Wanting* wanting) noexcept nogil:
    """Return the next one; NULL: there are no more."""
    cdef ConsumerSlot* consumer
    if wanting.left:
        consumer = <ConsumerSlot*> wanting.found[0].owner
        wanting.found += 1
        wanting.left -= 1
        return consumer
    while wanting.consumer != NULL:
        consumer = wanting.consumer
        wanting.consumer = consumer.next
        if machine_wants(&consumer.machine, wanting.subject, wanting.length):
            return consumer
    return NULL
