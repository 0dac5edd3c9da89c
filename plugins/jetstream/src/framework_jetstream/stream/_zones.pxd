"""The C face of time zones; see `_zones.pyx`."""

from libc.stdint cimport int32_t, int64_t, uint32_t

from framework_jetstream.stream._headers cimport Text

cdef enum:
    NAME_MAX = 63
    # Characters of a zone's name.


cdef struct Day:
    # When daylight saving time begins or ends in a year.
    char kind
    # M: a weekday of a month; J: a day from 1, without 29 February; N: a day from 0.
    int32_t month
    int32_t week
    int32_t day
    int32_t time_s


cdef struct Rule:
    bint is_there
    bint has_summer
    int32_t winter_s
    int32_t summer_s
    Day begin
    Day end


cdef struct Zone:
    char name[NAME_MAX + 1]
    Zone* next
    int32_t first_s
    # Offset before the first change.
    uint32_t count
    int64_t* changes
    int32_t* offsets
    Rule rule


cdef const Zone* zone_find(Text name) noexcept nogil
cdef int64_t zone_offset(const Zone* zone, int64_t at_s) noexcept nogil
