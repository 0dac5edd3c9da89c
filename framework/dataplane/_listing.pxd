"""The C face of listings; see `_listing.pyx`."""

from libc.stdint cimport int64_t

from framework.dataplane._state cimport Listing, State, Subscription


cdef void listing_open(State* state, int64_t id, const char* chars, size_t length) noexcept nogil
cdef void listing_next(State* state, int64_t id, int64_t token) noexcept nogil
cdef void listing_close(State* state, int64_t id) noexcept nogil


cdef inline void listings_pass(State* state, Subscription* subscription) noexcept nogil:
    """Let no listing look at a subscription that ends next, but at the one behind it."""
    cdef Listing* listing = state.listings
    while listing != NULL:
        if listing.at == subscription:
            listing.at = subscription.next
        listing = listing.next
