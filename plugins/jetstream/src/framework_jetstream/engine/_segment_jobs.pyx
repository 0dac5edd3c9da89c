"""What is done with segments: files are made, written and synced, then their names; or they are removed.

`SegmentThread` does it in a folder, on a thread of its own, without the interpreter; who simulates takes the same as effects.
"""

import os

cimport cython
from libc.errno cimport EINTR, EIO, ENOMEM, errno
from libc.stdint cimport uint64_t
from libc.stdio cimport snprintf
from libc.stdlib cimport free
from posix.fcntl cimport O_CLOEXEC, O_CREAT, O_EXCL, O_WRONLY

from framework_jetstream.engine._chains cimport chain_push, chain_take
from framework_jetstream.store._segment cimport SegmentWriter, segment_drop
from framework_jetstream.stream._saving cimport save_next

from framework_jetstream.log.record import Effect

cdef extern from "fcntl.h" nogil:
    int openat(int folder, const char* name, int flags, ...)

cdef extern from "poll.h" nogil:
    struct pollfd:
        int fd
        short events
        short revents
    enum:
        POLLIN
    int poll(pollfd* waits, unsigned long count, int timeout_ms)

cdef extern from "unistd.h" nogil:
    int close(int fd)
    int fsync(int fd)
    int fdatasync(int fd)
    int unlinkat(int folder, const char* name, int flags)
    ssize_t pwrite(int fd, const void* source, size_t count, long offset)
    ssize_t read(int fd, void* into, size_t count)
    ssize_t write(int fd, const void* source, size_t count)

cdef enum:
    NAME_BYTES = 48
    PIECE_BYTES = 1 << 20
    SYNC_BYTES = 1 << 23
    # Are synced at once, so that syncs of the log never wait for much more.


cdef void _name(char* name, uint64_t group, uint64_t file) noexcept nogil:
    snprintf(name, NAME_BYTES, "%010llu-%010llu.seg", <unsigned long long> group, <unsigned long long> file)


cdef class SegmentJobs:
    """Jobs of an engine, taken one by one: what a simulation drives between turns."""

    def __cinit__(self):
        self.fd = -1

    cdef SegmentJob* next_job(self) noexcept nogil:
        """Take the oldest job; NULL: there is none."""
        cdef SegmentJob* job = self.state.taken
        cdef SegmentJob* newer = NULL
        if job == NULL:
            newer = <SegmentJob*> chain_take(<void**> &self.state.jobs)
        while newer != NULL:
            job = newer
            newer = job.next
            job.next = self.state.taken
            self.state.taken = job
        return job

    cdef void job_done(self, SegmentJob* job, int error) noexcept nogil:
        """Give the job that was taken back."""
        job.error = error
        self.state.taken = job.next
        chain_push(<void**> &self.state.performed, job, job)

    def take(self) -> list[tuple] | None:
        """Return what the oldest job does, as effects with names of files; None: there is none. `done` follows."""
        cdef SegmentJob* job = self.next_job()
        cdef SegmentWriter writer
        cdef char[NAME_BYTES] name
        cdef size_t at
        if job == NULL:
            return None
        effects = []
        for at in range(job.removed_count):
            _name(name, job.removed[at].group, job.removed[at].file)
            effects.append((Effect.REMOVE, (<char*> name).decode()))
        if job.removed != NULL:
            return effects
        while save_next(&job.save, &writer):
            _name(name, job.save.group, job.save.next_file - 1)
            data, file = writer.out.chars[:writer.out.used], (<char*> name).decode()
            effects += [(Effect.ALLOCATE, file, len(data)), (Effect.WRITE, file, 0, data), (Effect.SYNC, file)]
            segment_drop(&writer)
            free(writer.out.chars)
        return [*effects, (Effect.SYNC_DIRECTORY,)]

    def done(self, int error=0):
        """Hear how the job went: errno of what failed, or 0."""
        self.job_done(self.state.taken, error)


# ---- in a folder -----------------------------------------------------------------------------------------------------------


@cython.final
cdef class SegmentThread(SegmentJobs):
    """Perform jobs in a folder; `run` is what the thread does.

    Args:
        folder: Exists.
        told_fd: An eventfd that gets eight bytes when a job is done.

    Raises:
        OSError: The folder can't be opened.
    """

    cdef int folder
    cdef int told_fd
    cdef bint is_stopping

    def __cinit__(self, folder not None, int told_fd):
        self.folder = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self.fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self.told_fd = told_fd

    def __dealloc__(self):
        if self.folder:
            close(self.folder)
        if self.fd > 0:
            close(self.fd)

    cdef int _write(self, const char* name, const char* chars, uint64_t length) noexcept nogil:
        """Make a file, and sync it; errno, 0: done."""
        cdef int fd = openat(self.folder, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o640)
        cdef int error = 0 if fd >= 0 else errno
        cdef uint64_t at = 0, synced = 0
        cdef ssize_t count
        while not error and at < length:
            count = pwrite(fd, chars + at, min(length - at, <uint64_t> PIECE_BYTES), <long> at)
            if count > 0:
                at += count
            elif count == 0 or errno != EINTR:
                error = EIO if count == 0 else errno
            if self.is_stopping:
                error = EINTR
            if not error and (at - synced >= SYNC_BYTES or at == length):
                synced = at
                if fdatasync(fd):
                    error = errno
        if fd >= 0:
            close(fd)
        return error

    cdef int _save(self, SegmentJob* job) noexcept nogil:
        """Write all files of a save, then sync their names; errno, 0: done."""
        cdef SegmentWriter writer
        cdef char[NAME_BYTES] name
        cdef int error = 0
        while not error and save_next(&job.save, &writer):
            _name(name, job.save.group, job.save.next_file - 1)
            error = self._write(name, writer.out.chars, writer.out.used)
            segment_drop(&writer)
            free(writer.out.chars)
        if job.save.has_failed:
            return ENOMEM
        if not error and fsync(self.folder):
            error = errno
        return error

    cdef int _perform(self, SegmentJob* job) noexcept nogil:
        cdef char[NAME_BYTES] name
        cdef size_t at
        if job.removed == NULL:
            return self._save(job)
        for at in range(job.removed_count):
            _name(name, job.removed[at].group, job.removed[at].file)
            unlinkat(self.folder, name, 0)
        return 0

    def run(self) -> None:
        """Perform jobs until it is stopped; the interpreter is not held meanwhile."""
        cdef pollfd waits
        cdef SegmentJob* job
        cdef uint64_t one = 1
        waits.fd = self.fd
        waits.events = POLLIN
        with nogil:
            while not self.is_stopping:
                job = self.next_job()
                if job != NULL:
                    self.job_done(job, self._perform(job))
                    write(self.told_fd, &one, sizeof(one))
                    continue
                poll(&waits, 1, -1)
                read(self.fd, &one, sizeof(one))
                one = 1

    def stop(self) -> None:
        """Let `run` end, in the middle of a job as well: what that has written is removed by the next start."""
        cdef uint64_t one = 1
        self.is_stopping = True
        write(self.fd, &one, sizeof(one))
