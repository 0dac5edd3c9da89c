"""The C face of forwards; see `_forwards.pyx`."""

from libc.stdint cimport uint32_t, uint64_t

from framework.dataplane._state cimport Message, State


cdef bint forward_set(State* state, const char* prefix, size_t length, uint64_t link) noexcept nogil
cdef void forward_remove(State* state, const char* prefix, size_t length) noexcept nogil
cdef void forwards_free(State* state) noexcept nogil
cdef uint32_t address_length(State* state, const char* subject, size_t length) noexcept nogil
cdef bint forward_pass(State* state, Message* message, int* served) noexcept nogil


cdef inline bint is_forwarded(State* state, Message* message, int* served) noexcept nogil:
    """Whether a message has gone where its prefix says; else it is to be matched, perhaps without that. Cost without forwards: a look."""
    return state.forwards != NULL and forward_pass(state, message, served)
