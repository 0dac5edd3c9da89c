"""Cores of one server: from each to each other one queue of interest and one of messages.

A core takes the others for servers to which it has a link that no socket belongs to: its *faces*. There is one for each scope that interest
comes from, so that the matrix of scopes (`scopes.py`) holds for them as it does for links; all faces of a core count as one peer. What
a core hears, and what it tells, is in `_inner_interest.pyx`; what they send each other in `_inner_messages.pyx`.
"""

from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport calloc, free

from framework.dataplane._state cimport (
    SCOPES_MAX, SCOPE_HERE, STALLS, SYSTEM, Inner, InnerPeer, Link, State,
)
from framework.dataplane._work cimport ready_leave
from framework.dataplane.delivery._delivery cimport subscription_drop
from framework.dataplane.delivery._fanouts cimport fanout_end
from framework.dataplane.inner._fifo cimport Fifo, fifo_new, fifo_release
from framework.dataplane.inner._inner_interest cimport inner_tell_all


cdef Link* _face(State* state, InnerPeer* peer, int scope) noexcept nogil:
    """Return what stands for a core where interest of a scope is looked for; NULL: no memory."""
    cdef Link* made = <Link*> calloc(1, sizeof(Link))
    if made == NULL:
        return NULL
    made.id = (<uint64_t> 1 << FACE_BIT) | <uint64_t> peer.number << 8 | <uint64_t> scope
    made.fd = -1
    made.kind = SYSTEM
    made.scope = scope
    made.traits = STALLS
    made.rank = 1
    made.registered = 1
    made.headers = 1
    made.dialect = &state.kinds[<int> SYSTEM].dialect
    made.peer = &peer.peer
    made.joined = peer
    return made


cdef bint _open(State* state, uint32_t number, uint32_t count, int plant) noexcept nogil:
    """Give a core what it has of all cores, itself among them, but for the queues; False: no memory."""
    cdef Inner* made = <Inner*> calloc(1, sizeof(Inner))
    cdef InnerPeer* peer
    cdef uint32_t at
    cdef int scope
    if made == NULL:
        return False
    state.inner = made
    made.peers = <InnerPeer*> calloc(count, sizeof(InnerPeer))
    if made.peers == NULL:
        return False
    made.number = number
    made.count = count
    made.plant = plant
    for at in range(count):
        peer = &made.peers[at]
        peer.number = at
        peer.peer.is_core = 1
        if at == number:
            continue
        for scope in range(SCOPES_MAX):
            if scope != SCOPE_HERE:
                peer.faces[scope] = _face(state, peer, scope)
                if peer.faces[scope] == NULL:
                    return False
    state.counted = (1 << SCOPES_MAX) - 1
    state.id_bits = <uint64_t> number << CORE_BIT
    state.generations_mask = GENERATIONS_JOINED
    state.cid_step = count
    state.next_cid = number + 1 - <uint64_t> count
    return True


cdef bint _connect(State* one, State* other) noexcept nogil:
    """Lead one core's queues to another; False: no memory."""
    cdef InnerPeer* to = &one.inner.peers[other.inner.number]
    cdef InnerPeer* of = &other.inner.peers[one.inner.number]
    cdef Fifo* fifo = fifo_new()
    to.told = of.heard = fifo
    if fifo == NULL:
        return False
    fifo = fifo_new()
    to.said = of.hears = fifo
    return fifo != NULL


cdef bint cores_join(State** states, uint32_t count, int plant) noexcept nogil:
    """Join cores that have had no links yet, and let them tell each other the interest of their sinks; False: no memory."""
    cdef uint32_t at, which
    for at in range(count):
        if not _open(states[at], at, count, plant):
            return False
    for at in range(count):
        for which in range(count):
            if at != which and not _connect(states[at], states[which]):
                return False
    for at in range(count):
        inner_tell_all(states[at])
    return True


cdef void _face_end(State* state, Link* face) noexcept nogil:
    if face == NULL:
        return
    ready_leave(state, face)
    while face.first_fanout != NULL:
        fanout_end(state, face)
    while face.subscriptions != NULL:
        subscription_drop(state, face.subscriptions)


cdef void inner_free(State* state) noexcept nogil:
    """Leave the other cores; the last one of two frees the queues between them."""
    cdef Inner* inner = state.inner
    cdef InnerPeer* peer
    cdef uint32_t at
    cdef int scope
    if inner == NULL:
        return
    for at in range(inner.count if inner.peers != NULL else 0):
        for scope in range(SCOPES_MAX):
            _face_end(state, inner.peers[at].faces[scope])
    state.inner = NULL
    for at in range(inner.count if inner.peers != NULL else 0):
        peer = &inner.peers[at]
        fifo_release(peer.told)
        fifo_release(peer.said)
        fifo_release(peer.heard)
        fifo_release(peer.hears)
        for scope in range(SCOPES_MAX):
            free(peer.faces[scope])
    free(inner.peers)
    free(inner.names)
    free(inner.name_lengths)
    free(inner)
