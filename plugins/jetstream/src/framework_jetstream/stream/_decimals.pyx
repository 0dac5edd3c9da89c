"""Whole numbers of any length as text, for counters: read, and added.

Source: ADR-49; Go, `big.Int.SetString` with base 10.
"""

from libc.stdint cimport uint32_t
from libc.string cimport memcmp, memcpy, memmove


cdef bint decimal_of_text(Text text, Decimal* number) noexcept nogil:
    """Read a number with or without a sign; False: it is none."""
    cdef uint32_t at = 0, begin
    number.is_negative = text.length and text.chars[0] == b"-"
    if text.length and (text.chars[0] == b"-" or text.chars[0] == b"+"):
        at = 1
    if at == text.length:
        return False
    begin = at
    while at < text.length:
        if not 48 <= text.chars[at] <= 57:
            return False
        at += 1
    while begin < text.length and text.chars[begin] == 48:
        begin += 1
    number.digits = text.chars + begin
    number.length = text.length - begin
    if number.length == 0:
        number.is_negative = False
    return True


cdef bint _is_less(const Decimal* one, const Decimal* other) noexcept nogil:
    """Whether a number is less than another one, both without their signs."""
    if one.length != other.length:
        return one.length < other.length
    return memcmp(one.digits, other.digits, one.length) < 0


cdef uint32_t _write_combined(char* to, const Decimal* more, const Decimal* less, bint subtracts) noexcept nogil:
    """Write the sum or the difference of two numbers without their signs, of which the first is not the smaller one."""
    cdef uint32_t at, begin = 0
    cdef int digit, carry = 0
    for at in range(more.length):
        digit = more.digits[more.length - 1 - at] - 48
        if at < less.length:
            carry += -(less.digits[less.length - 1 - at] - 48) if subtracts else less.digits[less.length - 1 - at] - 48
        digit += carry
        carry = -1 if digit < 0 else (1 if digit > 9 else 0)
        to[more.length - at] = <char> (48 + digit - 10 * carry)
    to[0] = <char> (48 + carry)
    while begin < more.length and to[begin] == 48:
        begin += 1
    memmove(to, to + begin, more.length + 1 - begin)
    return more.length + 1 - begin


cdef uint32_t write_sum(char* to, const Decimal* one, const Decimal* other) noexcept nogil:
    """Write a sum; return its length, at most that of the longer number and 2."""
    cdef const Decimal* more = other if _is_less(one, other) else one
    cdef const Decimal* less = one if _is_less(one, other) else other
    cdef uint32_t length
    cdef uint32_t sign = 0
    if more.is_negative:
        memcpy(to, b"-", 1)
        sign = 1
    length = _write_combined(to + sign, more, less, one.is_negative != other.is_negative)
    if length == 1 and to[sign] == 48:
        to[0] = 48
        return 1
    return sign + length
