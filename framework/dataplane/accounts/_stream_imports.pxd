"""The C face of imported streams; see `_stream_imports.pyx`."""

from framework.dataplane._state cimport IS_PEER, Account, Link, Message, State, Subscription


cdef inline bint casts_shadows(State* state, Link* link) noexcept nogil:
    """Whether interest that comes by a link of another server passes imports of streams here."""
    return link.traits & IS_PEER and state.enters_services >> link.scope & 1


cdef inline bint is_of_peer(Subscription* shadow) noexcept nogil:
    """Whether a shadow is one of another server's interest."""
    return shadow.previous.link != NULL and shadow.previous.link.traits & IS_PEER


cdef void shadows_add(State* state, Subscription* subscription) noexcept nogil
cdef void shadows_drop(State* state, Subscription* subscription) noexcept nogil
cdef void shadows_told(State* state, Message* message) noexcept nogil
cdef void shadows_renew(State* state, Account* account) noexcept nogil
cdef bint shadow_enter(State* state, Subscription* shadow, Message* message) noexcept nogil
