"""The C face of origins; see `_origins.pyx`."""

from libc.stdint cimport int64_t, uint32_t

from framework.dataplane._state cimport Account, Link, LocalInterest, Message, Origin, State, Subscription


cdef inline bint is_of_origin(Link* link, Message* message) noexcept nogil:
    """Whether a link leads to a server of the cluster of leaf nodes that a message comes from."""
    return message.origin != 0 and link.origin != NULL and link.origin.number == message.origin


cdef inline int64_t interest_with_origins(LocalInterest* local) noexcept nogil:
    """Return how much of one interest leaf nodes have that are of clusters."""
    return local.origins.total if local.origins != NULL else 0


cdef void origin_set(State* state, Link* link, const char* name, size_t length) noexcept nogil
cdef void origin_leave(State* state, Link* link) noexcept nogil
cdef uint32_t origin_number(State* state, const char* name, size_t length) noexcept nogil
cdef bint is_interest_of_origin(Link* link, Subscription* subscription) noexcept nogil
cdef int64_t interest_of_origin(State* state, Link* link, Account* account, LocalInterest* local) noexcept nogil
cdef void origin_interest_change(LocalInterest* local, Origin* origin, int change) noexcept nogil
cdef void origins_forget(LocalInterest* local) noexcept nogil
cdef int64_t interest_by_origin(Origin* origin, LocalInterest* local) noexcept nogil
