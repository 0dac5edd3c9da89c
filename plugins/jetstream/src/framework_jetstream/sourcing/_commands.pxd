"""The C face of commands to sources; see `_commands.pyx`."""

from libc.stdint cimport uint64_t

from framework_jetstream.engine._state cimport Command, Engine, Slot


cdef int source_command(Engine* engine, Command* command) noexcept nogil
cdef void source_skipped(Engine* engine, Slot* slot, uint64_t first, Command* command) noexcept nogil
