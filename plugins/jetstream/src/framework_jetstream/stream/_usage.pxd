"""What messages take of what an account, and a server, may store."""

from libc.stdint cimport int64_t


cdef struct Usage:
    # Bytes as nats-server counts them.
    int64_t used
    int64_t pending
    # Of messages that are proposed.
    int64_t most
    # Below 0: any number.
    Usage* all
    # That this one is a part of; NULL: none.


cdef inline void usage_add(Usage* usage, int64_t bytes) noexcept nogil:
    """Count bytes that have come, or, below 0, have gone; NULL: nobody counts."""
    while usage != NULL:
        usage.used += bytes
        usage = usage.all
