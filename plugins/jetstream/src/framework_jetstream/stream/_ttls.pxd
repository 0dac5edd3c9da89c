"""The C face of messages that live for a time of their own; see `_ttls.pyx`."""

from libc.stdint cimport int64_t, uint64_t


cdef struct Ttl:
    int64_t at_ns
    uint64_t seq


cdef struct Ttls:
    # A heap: the first one is the next that ends.
    Ttl* heap
    size_t count
    size_t room


cdef bint ttls_add(Ttls* ttls, int64_t at_ns, uint64_t seq) noexcept nogil
cdef uint64_t ttls_take(Ttls* ttls, int64_t now_ns) noexcept nogil
cdef void ttls_free(Ttls* ttls) noexcept nogil
