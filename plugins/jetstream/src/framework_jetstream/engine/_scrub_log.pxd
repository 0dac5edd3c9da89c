"""The C face of what reads files of the log though nobody wants them; see `_scrub_log.pyx`."""

from framework_jetstream.engine._state cimport Engine, ReadJob
from framework_jetstream.store._bodies cimport SegmentFiles


cdef ReadJob* scrub_log_next(Engine* engine) noexcept nogil
cdef void scrub_log_perform(ReadJob* job, const SegmentFiles* files) noexcept nogil
cdef void scrub_log_took(Engine* engine, ReadJob* job) noexcept nogil
