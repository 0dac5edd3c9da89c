"""The C face of exports of streams; see `_export.pyx`."""

from framework_jetstream.engine._state cimport Command, Engine, Slot


cdef void export_command(Engine* engine, Slot* slot, Command* command) noexcept nogil
