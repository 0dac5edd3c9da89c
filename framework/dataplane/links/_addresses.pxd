"""The C face of refused addresses; see `_addresses.pyx`."""

from framework.dataplane._state cimport Command, State


cdef enum:
    ADDRESS_BYTES = 16
    # Of IPv6; IPv4 is mapped to ::ffff:0:0/96.
    RANGE_BYTES = ADDRESS_BYTES + 1
    # The address, then the bits that count.
    CHANGE_BYTES = RANGE_BYTES + 1
    # Then 1: it comes, 0: it goes.


cdef bint addresses_change(State* state, Command* command) noexcept nogil
cdef bint is_address_refused(State* state, int kind, const char* address, const char* host, int port) noexcept nogil
cdef void addresses_free(State* state) noexcept nogil
