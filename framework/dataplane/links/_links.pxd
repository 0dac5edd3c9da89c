"""The C face of links' lives; see `_links.pyx`."""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from framework.dataplane._state cimport Block, Limits, Link, LinkKindC, Row, State


cdef State* state_new(Limits* limits, uint64_t seed) noexcept nogil
cdef void state_free(State* state) noexcept nogil
cdef Link* link_open(
    State* state, LinkKindC kind, int listener, bint accepted, bint informed, const char* host, int port, int64_t token
) noexcept nogil
cdef Link* link_of(State* state, uint64_t id) noexcept nogil
cdef void link_row(Link* link, Row* row) noexcept nogil
cdef char* link_window(State* state, Link* link, size_t* room) noexcept nogil
cdef void link_received(State* state, Link* link, size_t length) noexcept nogil
cdef char* link_parse(State* state, Link* link, char* at, char* end, Block* block, size_t length, bint last) noexcept nogil
cdef void link_settle(State* state, Link* link, size_t pending_before, int64_t records_before) noexcept nogil
cdef bint link_waits(Link* link) noexcept nogil
cdef void link_stall(State* state, Link* link) noexcept nogil
cdef void link_wake(State* state, Link* link) noexcept nogil
cdef void link_hung_up(State* state, Link* link, int error) noexcept nogil
cdef void link_register(State* state, Link* link) noexcept nogil
cdef void links_unpause(State* state) noexcept nogil
cdef bint links_end(State* state) noexcept nogil
cdef void links_bury(State* state) noexcept nogil
cdef void state_sweep(State* state) noexcept nogil
