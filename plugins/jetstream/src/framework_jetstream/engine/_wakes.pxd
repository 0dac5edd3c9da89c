"""When the engine has to do something without being told."""

from libc.stdint cimport int64_t

from framework_jetstream.engine._alarms cimport alarm_set
from framework_jetstream.engine._state cimport ConsumerSlot, Engine

cdef enum:
    FAR_NS = 3600000000000
    # Nobody sleeps longer: a clock of the day may be set.


cdef inline void wake_at(Engine* engine, int64_t when_ns) noexcept nogil:
    """Wake up at a time of the clock that never goes back."""
    if when_ns < engine.wakes_ns:
        engine.wakes_ns = when_ns


cdef inline void consumer_wake_at(Engine* engine, ConsumerSlot* consumer, int64_t when_ns) noexcept nogil:
    """Look at a consumer at a time, or before."""
    if when_ns < consumer.alarm.at_ns:
        alarm_set(&engine.alarms, &consumer.alarm, when_ns)
        wake_at(engine, when_ns)


cdef inline void wake_at_unix(Engine* engine, int64_t when_ns) noexcept nogil:
    """Wake up at a time of day."""
    wake_at(engine, engine.now_ns + min(when_ns - engine.unix_ns, <int64_t> FAR_NS))
