"""Messages that live for a time of their own: a heap of when they end. What was removed before stays in it until then."""

from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memset


cdef bint ttls_add(Ttls* ttls, int64_t at_ns, uint64_t seq) noexcept nogil:
    """Remember when a message ends; False: no memory."""
    cdef void* grown
    cdef size_t at, above
    if ttls.count == ttls.room:
        grown = realloc(ttls.heap, (ttls.room * 2 + 16) * sizeof(Ttl))
        if grown == NULL:
            return False
        ttls.heap = <Ttl*> grown
        ttls.room = ttls.room * 2 + 16
    at = ttls.count
    ttls.count += 1
    while at:
        above = (at - 1) // 2
        if ttls.heap[above].at_ns <= at_ns:
            break
        ttls.heap[at] = ttls.heap[above]
        at = above
    ttls.heap[at].at_ns = at_ns
    ttls.heap[at].seq = seq
    return True


cdef uint64_t ttls_take(Ttls* ttls, int64_t now_ns) noexcept nogil:
    """Return a message whose time is over, and forget it; 0: there is none."""
    cdef uint64_t seq
    cdef Ttl last
    cdef size_t at = 0, below
    if ttls.count == 0 or ttls.heap[0].at_ns > now_ns:
        return 0
    seq = ttls.heap[0].seq
    ttls.count -= 1
    last = ttls.heap[ttls.count]
    while True:
        below = 2 * at + 1
        if below >= ttls.count:
            break
        if below + 1 < ttls.count and ttls.heap[below + 1].at_ns < ttls.heap[below].at_ns:
            below += 1
        if ttls.heap[below].at_ns >= last.at_ns:
            break
        ttls.heap[at] = ttls.heap[below]
        at = below
    if ttls.count:
        ttls.heap[at] = last
    return seq


cdef void ttls_free(Ttls* ttls) noexcept nogil:
    free(ttls.heap)
    memset(ttls, 0, sizeof(Ttls))
