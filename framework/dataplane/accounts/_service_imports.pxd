"""The C face of imported services; see `_service_imports.pyx`."""

from libc.stdint cimport uint32_t

from framework.dataplane._state cimport Account, Message, State, Subscription, Tables


cdef bint import_enter(State* state, Subscription* subscription, Message* message) noexcept nogil
cdef int imports_passed(State* state, uint32_t first, Message* message) noexcept nogil
cdef void services_set(State* state, Account* account, Tables* before) noexcept nogil
