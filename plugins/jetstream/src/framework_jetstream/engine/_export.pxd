"""The C face of exports of streams; see `_export.pyx`."""

from libc.stdint cimport uint64_t

from framework_jetstream.engine._state cimport Command, Engine, Slot


cdef uint64_t export_command(Engine* engine, Slot* slot, Command* command) noexcept nogil
