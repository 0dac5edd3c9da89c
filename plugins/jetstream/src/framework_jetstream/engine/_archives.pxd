"""The C face of archives of streams; see `_archives.pyx`."""

from libc.stdint cimport uint64_t

from framework_jetstream.engine._state cimport Command, Engine, Slot


cdef uint64_t archive_command(Engine* engine, Command* command) noexcept nogil
cdef int archive_propose(Engine* engine, Slot* slot, Command* command) noexcept nogil
cdef void archive_apply(
    Engine* engine, Slot* slot, const char* chars, size_t length, uint64_t body_max, uint64_t last, Command* command
) noexcept nogil
