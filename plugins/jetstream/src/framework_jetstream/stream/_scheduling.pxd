"""The C face of messages that are published when their time has come; see `_scheduling.pyx`."""

from libc.stdint cimport int64_t, uint64_t

from framework_jetstream.stream._headers cimport PublishHeaders
from framework_jetstream.stream._machine cimport Publish, Stream


cdef int refusal_of_schedule(Stream* stream, const Publish* message, PublishHeaders* headers, int64_t now_ns) noexcept nogil
cdef int refusal_of_scheduler(Stream* stream, const Publish* message, PublishHeaders* headers) noexcept nogil
cdef bint schedule_settle(Stream* stream, Publish* message, PublishHeaders* headers) noexcept nogil
cdef void schedule_note(Stream* stream, const PublishHeaders* headers, uint64_t seq, int64_t time_ns) noexcept nogil
cdef void schedules_fire(Stream* stream, int64_t now_ns) noexcept nogil
