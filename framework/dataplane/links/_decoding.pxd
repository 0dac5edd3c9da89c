"""The C face of decoding; see `_decoding.pyx`."""

from framework.dataplane._state cimport Link, State


cdef char* coded_window(State* state, Link* link, size_t* room) noexcept nogil
cdef void coded_received(State* state, Link* link, size_t length) noexcept nogil
cdef void coded_rest(State* state, Link* link) noexcept nogil
cdef void coded_idle(State* state, Link* link) noexcept nogil
cdef void coded_go_on(State* state, Link* link, size_t budget) noexcept nogil
