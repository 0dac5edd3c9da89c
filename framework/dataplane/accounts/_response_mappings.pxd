"""The C face of response mappings; see `_response_mappings.pyx`."""

from libc.stdint cimport int64_t

from framework.dataplane._state cimport Account, Import, Message, ResponseMapping, State, Subscription


cdef enum Ending:
    # Why a response mapping ends.
    ENDED
    NOT_DELIVERED
    TOO_LATE
    REQUESTOR_GONE
    FORGOTTEN


cdef ResponseMapping* response_mapping_new(
    State* state, Account* account, Message* request, int64_t threshold_ns, int response, bint share, bint tracked
) noexcept nogil
cdef ResponseMapping* response_mapping_find(Account* account, const char* subject, size_t length) noexcept nogil
cdef void response_mapping_touch(State* state, ResponseMapping* answer) noexcept nogil
cdef void response_mapping_end(State* state, ResponseMapping* answer, Ending ending) noexcept nogil
cdef void response_mappings_gone(State* state, Subscription* subscription) noexcept nogil
cdef void response_mappings_tick(State* state) noexcept nogil
cdef void response_mappings_forget(State* state, Account* account) noexcept nogil
cdef void response_mappings_free(State* state) noexcept nogil
