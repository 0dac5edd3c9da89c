"""The C face of what reads segments though nobody wants them; see `_scrub.pyx`."""

from framework_jetstream.engine._state cimport Engine, ReadJob, Slot


cdef void scrub_turn(Engine* engine) noexcept nogil
cdef void scrub_suspect(Engine* engine, Slot* slot) noexcept nogil
cdef void scrub_wake(Engine* engine) noexcept nogil
cdef void scrub_took(Engine* engine, ReadJob* job) noexcept nogil
