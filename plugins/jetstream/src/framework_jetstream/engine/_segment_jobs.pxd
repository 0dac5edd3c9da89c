"""The C face of who performs jobs with segments; see `_segment_jobs.pyx`."""

from libc.stdint cimport uint64_t

from framework_jetstream.engine._state cimport Engine as State
from framework_jetstream.engine._state cimport ReadJob, SegmentJob
from framework_jetstream.store._bodies cimport BodyReader, SegmentFiles
from framework_jetstream.store._segment cimport Buffer, SegmentRow


cdef class SegmentJobs:
    cdef State* state
    cdef int fd  # becomes readable when there is a job; -1: who asks finds out

    cdef BodyReader reader
    cdef BodyReader scrubber  # of what nobody wants: it takes no place from what somebody does
    cdef bint has_begun
    cdef object source
    cdef int error  # of the job that was taken

    cdef void files(self, SegmentFiles* files)
    cdef void begin(self, State* state)
    cdef SegmentJob* next_job(self) noexcept nogil
    cdef bint _read_of(self, ReadJob** asked, ReadJob** taken, BodyReader* reader) noexcept nogil
    cdef bint read_one(self) noexcept nogil
    cdef bint scrub_one(self) noexcept nogil
    cdef void forget(self, uint64_t group, uint64_t file) noexcept nogil
    cdef list syncs(self, const SegmentJob* job)
    cdef list effects(self, const SegmentJob* job, uint64_t group, uint64_t file, const char* chars, uint64_t length)
    cdef void keep(self, uint64_t group, const SegmentRow* rows, size_t count, const Buffer* lost) noexcept nogil
    cdef void job_done(self, SegmentJob* job, int error) noexcept nogil
