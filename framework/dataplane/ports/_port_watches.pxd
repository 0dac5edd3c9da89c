"""The C face of watches of ports; see `_port_watches.pyx`."""

from libc.stdint cimport int64_t, uint32_t

from framework.dataplane._state cimport Account, Port, State, Subscription


cdef bint port_watch(State* state, Port* port, Account* account, const char* subject, uint32_t length, int64_t tag) noexcept nogil
cdef void port_unwatch(State* state, Port* port, int64_t tag) noexcept nogil
cdef void port_unwatch_all(State* state, Port* port) noexcept nogil
cdef void port_watches_touch(State* state, Subscription* subscription) noexcept nogil
cdef void port_watches_settle(State* state) noexcept nogil
