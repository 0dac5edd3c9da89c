"""The C face of interest between cores; see `_inner_interest.pyx`."""

from libc.stdint cimport uint8_t

from framework.dataplane._state cimport Account, LocalInterest, State, Subscription


cdef void inner_tell(State* state, Subscription* subscription, int change) noexcept nogil
cdef void inner_tell_all(State* state) noexcept nogil
cdef void inner_hear(State* state) noexcept nogil
cdef void inner_received(State* state) noexcept nogil
