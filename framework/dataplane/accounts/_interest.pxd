"""The C face of SUB, UNSUB, RS+ and RS-; see `_interest.pyx`."""

from framework.dataplane._state cimport Account, Link, Sink, State, Subscription


cdef bint is_valid_subject(const char* subject, size_t length) noexcept nogil
cdef bint is_literal_subject(const char* subject, size_t length) noexcept nogil
cdef void interest_weigh(State* state, Subscription* subscription, unsigned int weight) noexcept nogil
cdef Subscription* subscription_add(
    State* state, Link* link, Account* account, const char* sid, size_t sid_length,
    const char* subject, size_t subject_length, const char* queue, size_t queue_length, unsigned int weight,
) noexcept nogil
