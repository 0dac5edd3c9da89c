"""The C face of alarms; see `_alarms.pyx`."""

from libc.stdint cimport int64_t, uint32_t


cdef struct Alarm:
    # When its owner wants to be looked at; part of the owner.
    int64_t at_ns
    # NEVER_NS: not at all.
    void* owner
    uint32_t place
    # In the heap.


cdef struct Alarms:
    Alarm** heap
    # The first one is the next one.
    uint32_t count
    uint32_t members
    # Owners that may have an alarm; there is room for all.
    uint32_t room


cdef enum:
    NEVER_NS = 0x7fffffffffffffff


cdef bint alarm_join(Alarms* alarms, Alarm* alarm, void* owner) noexcept nogil
cdef void alarm_leave(Alarms* alarms, Alarm* alarm) noexcept nogil
cdef void alarm_set(Alarms* alarms, Alarm* alarm, int64_t at_ns) noexcept nogil
cdef void* alarm_due(Alarms* alarms, int64_t now_ns) noexcept nogil
cdef void alarms_free(Alarms* alarms) noexcept nogil


cdef inline int64_t alarms_next(const Alarms* alarms) noexcept nogil:
    """Return when the next one wants to be looked at."""
    return alarms.heap[0].at_ns if alarms.count else NEVER_NS
