"""The C face of messages that are under way for more than one slice of work; see `_fanouts.pyx`."""

from libc.stdint cimport uint32_t

from framework.dataplane._state cimport Fanout, Link, Message, State, Subscription
from framework.sublist._sublist cimport Interest


cdef Fanout* fanout_new(State* state, Message* message, Interest** rest, uint32_t count, uint32_t room) noexcept nogil
cdef void fanout_end(State* state, Link* link) noexcept nogil
cdef void dead_sweep(State* state, Subscription* last) noexcept nogil

cdef inline Interest** fanout_interest(Fanout* fanout) noexcept nogil:
    """Return the receivers of a fan-out: `count` of them."""
    return <Interest**> (fanout + 1)

cdef inline void fanout_add(Fanout* fanout, Interest* interest) noexcept nogil:
    """Let one more be served, for which there is room."""
    fanout_interest(fanout)[fanout.count] = interest
    fanout.count += 1
