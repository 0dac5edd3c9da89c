"""The C face of giving up files of the log; see `_trimming.pyx`."""

from framework_jetstream.engine._state cimport Engine


cdef void trim_turn(Engine* engine) noexcept nogil
