"""The C face of who performs jobs with segments; see `_segment_jobs.pyx`."""

from framework_jetstream.engine._state cimport Engine as State
from framework_jetstream.engine._state cimport SegmentJob


cdef class SegmentJobs:
    cdef State* state
    cdef int fd  # becomes readable when there is a job; -1: who asks finds out

    cdef SegmentJob* next_job(self) noexcept nogil
    cdef void job_done(self, SegmentJob* job, int error) noexcept nogil
