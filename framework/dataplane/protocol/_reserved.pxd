"""What follows from the prefix of a subject, by the table of `reserved.py`."""

from libc.stdint cimport uint8_t
from libc.string cimport memcmp

from framework.dataplane._state cimport State


cdef inline bint is_reserved(State* state, uint8_t treatment, const char* subject, size_t length) noexcept nogil:
    """Whether a subject begins with a prefix that has this treatment, and is longer."""
    cdef uint8_t at
    if not state.reserved_first[<uint8_t> subject[0]] & treatment:
        return False
    for at in range(state.reserved_count):
        # Prefixes have two bytes at the least, and in the second most differ: `_INBOX.` costs no call.
        if (
            state.reserved[at].treatment & treatment and length > state.reserved[at].length and state.reserved[at].prefix[1] == subject[1]
            and memcmp(subject, state.reserved[at].prefix, state.reserved[at].length) == 0
        ):
            return True
    return False
