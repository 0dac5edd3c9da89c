"""The C face of when schedules fire; see `_cron.pyx`."""

from libc.stdint cimport int64_t

from framework_jetstream.stream._headers cimport Text
from framework_jetstream.stream._zones cimport Zone


cdef bint is_cron(Text pattern) noexcept nogil
cdef bint schedule_next(
    Text pattern, const Zone* zone, int64_t after_ns, int64_t now_ns, int64_t* next_ns, bint* repeats
) noexcept nogil
