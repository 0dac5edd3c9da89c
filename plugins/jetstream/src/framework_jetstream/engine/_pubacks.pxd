"""The C face of the texts of PubAcks; see `_pubacks.pyx`."""

from libc.stdint cimport uint32_t

from framework_jetstream.engine._state cimport Engine, Slot
from framework_jetstream.stream._machine cimport Outcome


cdef size_t puback_bytes(Engine* engine, Slot* slot, const Outcome* outcome) noexcept nogil
cdef uint32_t write_stored(char* to, Slot* slot, Outcome* outcome) noexcept nogil
cdef uint32_t write_refused(char* to, Engine* engine, Outcome* outcome) noexcept nogil
