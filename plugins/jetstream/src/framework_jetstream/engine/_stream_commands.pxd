"""The C face of commands to streams; see `_stream_commands.pyx`."""

from framework_jetstream.engine._state cimport Command, Engine, Slot


cdef void stream_command(Engine* engine, Command* command) noexcept nogil
cdef void slot_close(Engine* engine, Slot* slot) noexcept nogil
cdef void slot_expire(Engine* engine, Slot* slot) noexcept nogil
