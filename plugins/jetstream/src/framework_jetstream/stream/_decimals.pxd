"""The C face of whole numbers of any length; see `_decimals.pyx`."""

from libc.stdint cimport uint32_t

from framework_jetstream.stream._headers cimport Text


cdef struct Decimal:
    # Digits without leading zeros are somebody else's; none: 0.
    const char* digits
    uint32_t length
    bint is_negative


cdef bint decimal_of_text(Text text, Decimal* number) noexcept nogil
cdef uint32_t write_sum(char* to, const Decimal* one, const Decimal* other) noexcept nogil
