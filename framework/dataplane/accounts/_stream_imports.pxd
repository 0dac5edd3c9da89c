"""The C face of imported streams; see `_stream_imports.pyx`."""

from framework.dataplane._state cimport Account, Message, State, Subscription


cdef void shadows_add(State* state, Subscription* subscription) noexcept nogil
cdef void shadows_drop(State* state, Subscription* subscription) noexcept nogil
cdef void shadows_renew(State* state, Account* account) noexcept nogil
cdef bint shadow_enter(State* state, Subscription* shadow, Message* message) noexcept nogil
