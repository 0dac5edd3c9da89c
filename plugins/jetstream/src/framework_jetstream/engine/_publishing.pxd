"""The C face of publishing to streams; see `_publishing.pyx`."""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from framework_jetstream.engine._port cimport framework_batch, framework_row
from framework_jetstream.engine._state cimport Engine, Slot
from framework_jetstream.stream._headers cimport Text
from framework_jetstream.stream._machine cimport Publish, Stream


cdef void publish_row(Engine* engine, Slot* slot, const framework_batch* batch, const framework_row* row) noexcept nogil
cdef void publish_apply(Engine* engine, Slot* slot, const Publish* publish, Text reply, int64_t now_ns) noexcept nogil
cdef void message_stored(Stream* stream, const Publish* message, uint64_t seq, uint64_t before, int64_t time_ns) noexcept nogil
cdef void publish_refuse(Engine* engine, Slot* slot, const char* reply, uint32_t length, int refusal) noexcept nogil
cdef void publish_unserved(Engine* engine, Slot* slot, const char* reply, uint32_t length) noexcept nogil
