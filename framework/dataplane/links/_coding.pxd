"""The C face of coding; see `_coding.pyx`."""

from libc.stdint cimport uint32_t

from framework.dataplane._state cimport Coder, Link, Segment, State

cdef enum:
    PIECE_BYTES = 1048576
    # Plain bytes that become one piece of output, at most.


cdef bint coding_add(State* state, Link* link, int kind, uint32_t options) noexcept nogil
cdef void coding_end(State* state, Link* link) noexcept nogil
cdef void coder_free(State* state) noexcept nogil
cdef void coder_rows(State* state) noexcept nogil
cdef bint coding_encode(State* state, Link* link) noexcept nogil
cdef void coding_settle(State* state, Link* link) noexcept nogil
cdef bint coding_flush(State* state, Link* link) noexcept nogil
cdef void coding_farewell(State* state, Link* link) noexcept nogil
cdef bint coding_waits(Link* link) noexcept nogil
cdef Segment** plain_begin(Link* link) noexcept nogil
cdef char* plain_gathered(Coder* coder, Segment* segment, size_t length) noexcept nogil
cdef bint plain_replace(State* state, Link* link, Segment** at, size_t length, char* chars, size_t count) noexcept nogil
cdef char* encoded_room(State* state, size_t need) noexcept nogil
