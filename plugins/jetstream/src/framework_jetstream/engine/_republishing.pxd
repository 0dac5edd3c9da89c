"""The C face of messages that are published again; see `_republishing.pyx`."""

from libc.stdint cimport int64_t, uint64_t

from framework_jetstream.engine._state cimport Slot
from framework_jetstream.stream._machine cimport Publish


cdef void republish(Slot* slot, const Publish* message, uint64_t seq, uint64_t before, int64_t time_ns) noexcept nogil
