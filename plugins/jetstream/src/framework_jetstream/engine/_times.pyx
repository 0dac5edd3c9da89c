"""Times as RFC 3339 has them, with nanoseconds, as Go writes them."""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from framework.sublist._bytes cimport write_decimal

cdef extern from "time.h" nogil:
    ctypedef long time_t
    struct tm:
        int tm_sec
        int tm_min
        int tm_hour
        int tm_mday
        int tm_mon
        int tm_year
    tm* gmtime_r(const time_t* seconds, tm* into)
    time_t timegm(tm* moment)

cdef enum:
    SECOND_NS = 1000000000


cdef void _write_digits(char* to, int64_t value, int count) noexcept nogil:
    while count:
        count -= 1
        to[count] = <char> (48 + value % 10)
        value //= 10


cdef uint32_t write_time(char* to, int64_t unix_ns) noexcept nogil:
    """Write a time in UTC; return its length."""
    cdef time_t seconds = unix_ns // SECOND_NS
    cdef int64_t rest = unix_ns % SECOND_NS
    cdef tm moment
    cdef uint32_t length = 19
    gmtime_r(&seconds, &moment)
    _write_digits(to, moment.tm_year + 1900, 4)
    _write_digits(to + 5, moment.tm_mon + 1, 2)
    _write_digits(to + 8, moment.tm_mday, 2)
    _write_digits(to + 11, moment.tm_hour, 2)
    _write_digits(to + 14, moment.tm_min, 2)
    _write_digits(to + 17, moment.tm_sec, 2)
    to[4] = to[7] = c"-"
    to[10] = c"T"
    to[13] = to[16] = c":"
    if rest:
        to[19] = c"."
        _write_digits(to + 20, rest, 9)
        length = 29
        while to[length - 1] == b"0":
            length -= 1
    to[length] = c"Z"
    return length + 1


cdef uint32_t write_duration(char* to, int64_t duration_ns) noexcept nogil:
    """Write a duration as Go does, such as `1m30s` or `250ms`; return its length."""
    cdef uint32_t used = 0, at
    cdef int64_t hours = duration_ns // (3600 * <int64_t> SECOND_NS)
    cdef int64_t minutes = duration_ns // (60 * <int64_t> SECOND_NS)
    cdef int64_t unit = SECOND_NS, rest
    cdef const char* suffix = b"s"
    if duration_ns < 1000000:
        unit = 1000
        suffix = b"us"
    elif duration_ns < SECOND_NS:
        unit = 1000000
        suffix = b"ms"
    if hours:
        used += write_decimal(to, <uint64_t> hours)
        to[used] = c"h"
        used += 1
    if minutes:
        used += write_decimal(to + used, <uint64_t> (minutes % 60))
        to[used] = c"m"
        used += 1
    duration_ns -= minutes * 60 * SECOND_NS
    used += write_decimal(to + used, <uint64_t> (duration_ns // unit))
    rest = duration_ns % unit
    if rest:
        to[used] = c"."
        used += 1
    while rest:
        unit //= 10
        to[used] = <char> (48 + rest // unit)
        rest %= unit
        used += 1
    at = 0
    while suffix[at]:
        to[used] = suffix[at]
        used += 1
        at += 1
    return used


cdef int64_t _digits(Text* text, uint32_t at, uint32_t count) noexcept nogil:
    """Return a number with so many digits; negative: it is none."""
    cdef int64_t value = 0
    cdef uint32_t place
    if at + count > text.length:
        return -1000000
    for place in range(at, at + count):
        if not 48 <= text.chars[place] <= 57:
            return -1000000
        value = value * 10 + (text.chars[place] - 48)
    return value


cdef bint ns_of_text(Text text, int64_t* unix_ns) noexcept nogil:
    """Read a time with any offset; False: it is none."""
    cdef tm moment
    cdef int64_t scale = SECOND_NS, fraction = 0, offset = 0
    cdef uint32_t at = 19
    moment.tm_year = <int> _digits(&text, 0, 4) - 1900
    moment.tm_mon = <int> _digits(&text, 5, 2) - 1
    moment.tm_mday = <int> _digits(&text, 8, 2)
    moment.tm_hour = <int> _digits(&text, 11, 2)
    moment.tm_min = <int> _digits(&text, 14, 2)
    moment.tm_sec = <int> _digits(&text, 17, 2)
    if moment.tm_year < -1900 or moment.tm_mon < 0 or moment.tm_mday < 1 or moment.tm_hour < 0 or moment.tm_min < 0 or moment.tm_sec < 0:
        return False
    if text.length < 20 or (text.chars[10] | 32) != 116:
        return False
    if text.chars[at] == b".":
        at += 1
        while at < text.length and 48 <= text.chars[at] <= 57:
            scale //= 10
            fraction += scale * (text.chars[at] - 48)
            at += 1
    if at + 1 == text.length and (text.chars[at] | 32) == 122:
        pass
    elif at + 6 == text.length and (text.chars[at] == b"+" or text.chars[at] == b"-"):
        offset = _digits(&text, at + 1, 2) * 3600 + _digits(&text, at + 4, 2) * 60
        if offset < 0:
            return False
        if text.chars[at] == b"-":
            offset = -offset
    else:
        return False
    unix_ns[0] = (<int64_t> timegm(&moment) - offset) * SECOND_NS + fraction
    return True
