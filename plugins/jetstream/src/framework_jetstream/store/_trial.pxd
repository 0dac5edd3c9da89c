"""Whether it is worth it to compress what comes next: what came before tells, then its first bytes; after one that is not, some are left.

Size: it stands in each stream and in each writer of segments.
"""

from libc.stdint cimport uint8_t

cdef enum:
    SAMPLE_BYTES = 4096
    # Of what comes next, where what came before was not worth it.
    TRIAL_LEFT_ALONE = 31
    # Of those that come after one that is not worth it.


cdef struct Trial:
    uint8_t left_alone
    # So many are not to be tried.
    uint8_t has_shrunk
    # The one before was worth it.


cdef inline bint trial_waits(Trial* trial) noexcept nogil:
    """Return whether the next one is to be left alone, and count it."""
    if trial.left_alone == 0:
        return False
    trial.left_alone -= 1
    return True


cdef inline bint trial_end(Trial* trial, bint has_shrunk) noexcept nogil:
    """Remember whether one was worth it, and return that."""
    trial.has_shrunk = has_shrunk
    if not has_shrunk:
        trial.left_alone = TRIAL_LEFT_ALONE
    return has_shrunk
