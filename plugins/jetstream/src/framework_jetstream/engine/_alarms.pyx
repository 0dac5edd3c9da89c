"""Who wants to be looked at, and when: a heap, so that those who want nothing now cost nothing.

An alarm is part of its owner, and there is room for it from `alarm_join` on: to set it can't fail.
"""

from libc.stdlib cimport free, realloc


cdef void _put(Alarms* alarms, Alarm* alarm, uint32_t place) noexcept nogil:
    alarms.heap[place] = alarm
    alarm.place = place


cdef void _rise(Alarms* alarms, Alarm* alarm) noexcept nogil:
    cdef uint32_t place = alarm.place, above
    while place:
        above = (place - 1) // 2
        if alarms.heap[above].at_ns <= alarm.at_ns:
            break
        _put(alarms, alarms.heap[above], place)
        place = above
    _put(alarms, alarm, place)


cdef void _sink(Alarms* alarms, Alarm* alarm) noexcept nogil:
    cdef uint32_t place = alarm.place, below
    while 2 * place + 1 < alarms.count:
        below = 2 * place + 1
        if below + 1 < alarms.count and alarms.heap[below + 1].at_ns < alarms.heap[below].at_ns:
            below += 1
        if alarms.heap[below].at_ns >= alarm.at_ns:
            break
        _put(alarms, alarms.heap[below], place)
        place = below
    _put(alarms, alarm, place)


cdef bint alarm_join(Alarms* alarms, Alarm* alarm, void* owner) noexcept nogil:
    """Let an owner have an alarm, which is not set; False: no memory."""
    cdef void* grown
    if alarms.members == alarms.room:
        grown = realloc(alarms.heap, (alarms.room * 2 + 16) * sizeof(Alarm*))
        if grown == NULL:
            return False
        alarms.heap = <Alarm**> grown
        alarms.room = alarms.room * 2 + 16
    alarms.members += 1
    alarm.at_ns = NEVER_NS
    alarm.owner = owner
    return True


cdef void alarm_leave(Alarms* alarms, Alarm* alarm) noexcept nogil:
    """Forget an owner, which goes."""
    alarm_set(alarms, alarm, NEVER_NS)
    alarms.members -= 1


cdef void alarm_set(Alarms* alarms, Alarm* alarm, int64_t at_ns) noexcept nogil:
    """Look at an owner at a time, and not before; `NEVER_NS`: not at all. Cost: O(log alarms)."""
    cdef Alarm* last
    cdef bint was_set = alarm.at_ns != NEVER_NS
    alarm.at_ns = at_ns
    if at_ns == NEVER_NS:
        if not was_set:
            return
        alarms.count -= 1
        last = alarms.heap[alarms.count]
        if last == alarm:
            return
        _put(alarms, last, alarm.place)
        alarm = last
    elif not was_set:
        _put(alarms, alarm, alarms.count)
        alarms.count += 1
    _rise(alarms, alarm)
    _sink(alarms, alarm)


cdef void* alarm_due(Alarms* alarms, int64_t now_ns) noexcept nogil:
    """Return an owner whose time has come, and let it have no alarm; NULL: there is none."""
    cdef Alarm* alarm
    if alarms_next(alarms) > now_ns:
        return NULL
    alarm = alarms.heap[0]
    alarm_set(alarms, alarm, NEVER_NS)
    return alarm.owner


cdef void alarms_free(Alarms* alarms) noexcept nogil:
    free(alarms.heap)
    alarms.heap = NULL
    alarms.count = alarms.members = alarms.room = 0
