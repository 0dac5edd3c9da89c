"""The C face of quotas; see `_quotas.pyx`."""

from libc.stdint cimport int64_t, uint8_t

from framework.dataplane._state cimport Command, Link, Message, Quota, State


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
cdef QuotaAnswer quotas_ask(State* state, Link* link, Message* message) noexcept nogil
cdef void quotas_tick(State* state) noexcept nogil
cdef int64_t quotas_due_ns(State* state) noexcept nogil
