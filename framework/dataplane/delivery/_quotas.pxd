"""The C face of quotas; see `_quotas.pyx`."""

from libc.stdint cimport int64_t, uint8_t, uint32_t

from framework.dataplane._state cimport Command, Link, Message, Quota, State
from framework.sublist._transform cimport subjects_overlap


cdef enum QuotaAnswer:
    QUOTA_LETS
    QUOTA_HOLDS
    # It waits: the message is to come again.
    QUOTA_REFUSES


cdef struct QuotaTerms:
    # What follows a command about a quota; 0: no limit.
    double messages_per_s
    double bytes_per_s
    double burst_messages
    double burst_bytes
    uint8_t refuses


cdef void quota_set(Quota* quota, QuotaTerms* terms) noexcept nogil
cdef void quota_release(Quota* quota) noexcept nogil
cdef void quotas_give(State* state, Command* command) noexcept nogil
cdef void quotas_leave(State* state, Link* link) noexcept nogil
cdef int64_t quotas_room(State* state, Link* link, uint8_t which, size_t length) noexcept nogil
cdef void quotas_charge(State* state, Link* link, uint8_t which, int64_t messages, int64_t length) noexcept nogil
cdef void quotas_settle(State* state) noexcept nogil
cdef QuotaAnswer quotas_look(State* state, Link* link, Message* message) noexcept nogil
cdef void quotas_tick(State* state) noexcept nogil
cdef int64_t quotas_due_ns(State* state) noexcept nogil


cdef inline bint quota_is_on(Quota* quota, const char* subject, size_t length) noexcept nogil:
    """Whether a quota counts for a subject; mostly its first characters tell that it does not."""
    cdef const char* own = <const char*> (quota + 1)
    cdef size_t at = 0
    while at < quota.subject_length and own[at] != c"*" and own[at] != c">":
        if at >= length or own[at] != subject[at]:
            return False
        at += 1
    if at == quota.subject_length:
        return at == 0 or at == length
    return subjects_overlap(own, quota.subject_length, subject, length)


cdef inline QuotaAnswer quotas_ask(State* state, Link* link, Message* message) noexcept nogil:
    """Whether a client may publish a message now, which is charged if so; else its link is held, or it is told."""
    cdef uint32_t at
    if state.leased != link or state.lease_messages <= 0 or state.lease_bytes <= 0:
        return quotas_look(state, link, message)
    for at in range(link.quotas_everywhere, link.quota_count):
        if quota_is_on(link.quotas[at], message.subject, message.subject_length):
            return quotas_look(state, link, message)
    state.lease_messages -= 1
    state.lease_bytes -= <int64_t> message.body_length
    link.quotas_asked = <uint8_t> ((1 << link.quotas_everywhere) - 1)
    return QUOTA_LETS
