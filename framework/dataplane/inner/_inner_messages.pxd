"""The C face of messages between cores; see `_inner_messages.pyx`."""

from libc.stdint cimport int64_t, uint64_t

from framework.dataplane._state cimport Link, Message, State
from framework.sublist._sublist cimport Match


cdef enum:
    ALL_RECORDS = 0xFFFFFFFF


cdef bint inner_send(State* state, Link* to, Message* message) noexcept nogil
cdef bint inner_is_first(State* state) noexcept nogil
cdef bint inner_may_pass(State* state) noexcept nogil
cdef void inner_begin(State* state) noexcept nogil
cdef void inner_ask(State* state, int served, int64_t token) noexcept nogil
cdef bint inner_is_full(State* state) noexcept nogil
cdef void inner_enter(State* state, Match* match, Message* message) noexcept nogil
cdef void inner_show(State* state) noexcept nogil
cdef void inner_look(State* state, uint64_t records_max) noexcept nogil
cdef void inner_listen(State* state) noexcept nogil
cdef void inner_go_on(State* state, Link* link) noexcept nogil
cdef bint inner_waits(Link* link) noexcept nogil
cdef bint inner_is_busy(State* state) noexcept nogil
cdef bint inner_holds(State* state, Link* link) noexcept nogil
