"""The C face of messages on their way to the log; see `_staging.pyx`."""

from framework_jetstream.engine._port cimport framework_batch, framework_row
from framework_jetstream.engine._state cimport Engine, Slot
from framework_jetstream.stream._machine cimport Publish


cdef bint publish_stage(Engine* engine, Slot* slot, const framework_batch* batch, const framework_row* row) noexcept nogil
cdef bint given_stage(Engine* engine, Slot* slot, const Publish* publish) noexcept nogil
cdef void staging_drop(Engine* engine, Slot* slot) noexcept nogil
cdef char* staging_chars(Slot* slot, size_t length) noexcept nogil
cdef bint slot_propose(Engine* engine, Slot* slot) noexcept nogil
cdef bint staging_propose(Engine* engine) noexcept nogil
