"""The C face of coding; see `_coding.pyx`."""

from framework.dataplane._state cimport Link, State
from framework.wire._s2 cimport S2Level


cdef bint coding_begin(State* state, Link* link, S2Level level) noexcept nogil
cdef void coding_end(State* state, Link* link) noexcept nogil
cdef void coder_free(State* state) noexcept nogil
cdef bint coding_encode(State* state, Link* link) noexcept nogil
cdef void coding_settle(State* state, Link* link) noexcept nogil
cdef bint coding_flush(State* state, Link* link) noexcept nogil
cdef bint coding_waits(Link* link) noexcept nogil
