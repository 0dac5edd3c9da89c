"""The C face of nonces; see `_nonces.pyx`."""

from framework.dataplane._state cimport Link, State


cdef bint nonce_give(State* state, Link* link) noexcept nogil
