"""The C face of imported services; see `_services.pyx`."""

from libc.stdint cimport uint32_t

from framework.dataplane._state cimport Account, Message, State, Subscription, Tables


cdef bint door_enter(State* state, Subscription* subscription, Message* message) noexcept nogil
cdef int doors_passed(State* state, uint32_t first, Message* message) noexcept nogil
cdef void services_set(State* state, Account* account, Tables* before) noexcept nogil
