"""What is done with segments: files are made, written and synced, then their names; or they are removed; and messages are read back.

`SegmentThread` does it in a folder, on a thread of its own, without the interpreter; who simulates takes the same as effects. Who waits for
a message comes first: also between the pieces of a file that is written.

A segment that a storage kind keeps has a file in its place that says so (`storage/folder.py`). Who comes to one is told to come again, and
those who talk to kinds are told that it is wanted: nothing here waits for them.

Size: the two ways of performing a job side by side, so that they agree, also in how files are encrypted.
"""

import os

cimport cython
from libc.errno cimport EBADMSG, EINTR, EIO, ENOENT, ENOMEM, EREMOTE, errno
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdio cimport snprintf
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy
from posix.fcntl cimport O_CLOEXEC, O_RDONLY

from framework_jetstream.encryption._cipher cimport KeyRing
from framework_jetstream.engine._chains cimport chain_push, chain_take
from framework_jetstream.engine._reading cimport read_perform
from framework_jetstream.engine._segment_file cimport (
    SegmentWriting, segment_file_add, segment_file_begin, segment_file_end, segment_file_open, segment_file_sync,
)
from framework_jetstream.store._bodies cimport LOST, bodies_begin, bodies_end, bodies_forget
from framework_jetstream.store._pages cimport PAGE_BYTES, PAGE_MORE, PAGES_AT, Pages, pages_new, pages_write
from framework_jetstream.store._segment cimport Buffer, LiveRun, SegmentRow, SegmentWriter
from framework_jetstream.store._segment_moving cimport segment_move
from framework_jetstream.stream._saving cimport save_leave, save_next, save_took

from framework_jetstream.log.record import Effect

cdef extern from "fcntl.h" nogil:
    enum:
        POSIX_FADV_DONTNEED
    int openat(int folder, const char* name, int flags, ...)
    int posix_fadvise(int fd, long offset, long length, int advice)

cdef extern from *:
    """
    #ifdef __GLIBC__
    #include <malloc.h>
    #else
    static int malloc_trim(size_t pad) { return 0; }
    #endif
    """
    int malloc_trim(size_t pad) nogil

cdef extern from "poll.h" nogil:
    struct pollfd:
        int fd
        short events
        short revents
    enum:
        POLLIN
    int poll(pollfd* waits, unsigned long count, int timeout_ms)

cdef extern from "unistd.h" nogil:
    enum:
        F_OK
    int faccessat(int folder, const char* name, int mode, int flags)
    int close(int fd)
    int fsync(int fd)
    int linkat(int folder, const char* name, int new_folder, const char* new_name, int flags)
    int unlinkat(int folder, const char* name, int flags)
    long lseek(int fd, long offset, int whence)
    enum:
        SEEK_END
    ssize_t pread(int fd, void* into, size_t count, long offset)
    ssize_t read(int fd, void* into, size_t count)
    ssize_t write(int fd, const void* source, size_t count)

cdef enum:
    NAME_BYTES = 48
    PIECE_BYTES = 1 << 20
    # Are written at once.
    PIECE_PAGES = 255
    # So many encrypted are one piece.
    SYNC_BYTES = 1 << 23
    # Are synced at once, so that syncs of the log never wait for much more.
    READS_MAX = 64
    # Between two pieces.
    TRIM_MS = 1000
    # Of rest, until memory is given back.
    FILE_BITS = 32
    # Of a number of a file, in a handle of who simulates.


cdef enum Ask:
    # What those are told who talk to storage kinds, as `storage/asks.py` has it.
    ASK_KEEP = 1
    # It was written here, and synced.
    ASK_FETCH
    # Somebody wants to read it.
    ASK_REMOVE
    # Nobody needs it any more.


cdef packed struct AskRow:
    uint32_t what
    uint32_t storage_kind
    # Of what is to be kept; else the file in its place says it.
    uint64_t group
    uint64_t file


cdef struct Place:
    # Where segments are.
    int folder
    int asks_fd
    # Gets AskRows; below 0: there are no storage kinds.


cdef void _name(char* name, uint64_t group, uint64_t file) noexcept nogil:
    """Write the name of a segment; group 0: of a file of the log, beside whose folder this one is."""
    if group == 0:
        snprintf(name, NAME_BYTES, "../%010llu.log", <unsigned long long> file)
        return
    snprintf(name, NAME_BYTES, "%010llu-%010llu.seg", <unsigned long long> group, <unsigned long long> file)


cdef bint _is_kept(const Place* place, uint64_t group, uint64_t file) noexcept nogil:
    """Whether a storage kind has a segment."""
    cdef char[NAME_BYTES] name
    if place.asks_fd < 0:
        return False
    snprintf(name, NAME_BYTES, "%010llu-%010llu.kept", <unsigned long long> group, <unsigned long long> file)
    return faccessat(place.folder, name, F_OK, 0) == 0


cdef void _ask(const Place* place, uint32_t what, uint32_t storage_kind, uint64_t group, uint64_t file) noexcept nogil:
    """Tell those who talk to storage kinds; where they are far behind it is lost, and found at the next start."""
    cdef AskRow row
    row.what = what
    row.storage_kind = storage_kind
    row.group = group
    row.file = file
    write(place.asks_fd, &row, sizeof(row))


# ---- where a simulation has segments -------------------------------------------------------------------------------------


cdef int64_t _open_bytes(void* jobs, uint64_t group, uint64_t file) noexcept with gil:
    found = (<SegmentJobs> jobs).bytes_of(group, file)
    if isinstance(found, int):
        return -<int64_t> found
    return <int64_t> (group << FILE_BITS | file) if found else -ENOENT


cdef int64_t _size_of_bytes(void* jobs, int64_t handle) noexcept with gil:
    found = (<SegmentJobs> jobs).bytes_of(handle >> FILE_BITS, handle & 0xFFFFFFFF)
    return -<int64_t> found if isinstance(found, int) else <int64_t> len(found)


cdef int _read_bytes(void* jobs, int64_t handle, uint64_t offset, char* into, size_t length) noexcept with gil:
    cdef const char* chars
    found = (<SegmentJobs> jobs).bytes_of(handle >> FILE_BITS, handle & 0xFFFFFFFF)
    if isinstance(found, int):
        return found
    if offset + length > <uint64_t> len(found):
        return LOST
    chars = found
    memcpy(into, chars + offset, length)
    return 0


cdef void _close_bytes(void* jobs, int64_t handle) noexcept nogil:
    pass


cdef void _uncache_bytes(void* jobs, int64_t handle) noexcept nogil:
    pass


cdef bytes _stored(const KeyRing* keys, uint64_t group, uint64_t file, const char* chars, uint64_t length):
    """Return what is to stand in a file."""
    cdef Pages pages
    if not keys.cipher:
        return chars[:length]
    pages_new(keys, group, file, length, &pages)
    data = bytearray(pages.stored)
    pages_write(&pages, chars, 0, (pages.length + PAGE_BYTES - 1) // PAGE_BYTES, data)
    return bytes(data)


cdef class SegmentJobs:
    """Jobs of an engine, taken one by one: what a simulation drives between turns.

    Args:
        source: Returns the bytes of a segment by group and file, none where there is no such file; None: there are none. It may raise
            OSError.
    """

    def __cinit__(self, *args, **more):
        self.fd = -1

    def __init__(self, source: object = None) -> None:
        self.source = source

    def __dealloc__(self):
        if self.has_begun:
            bodies_end(&self.reader)
            bodies_end(&self.scrubber)

    cdef void files(self, SegmentFiles* files):
        """Say how segments are read."""
        files.self = <void*> self
        files.open = _open_bytes
        files.size = _size_of_bytes
        files.read = _read_bytes
        files.close = _close_bytes
        files.uncache = _uncache_bytes

    def bytes_of(self, group: int, file: int) -> bytes | int:
        """Return what is in a segment, or an errno."""
        try:
            return self.source(group, file) if self.source is not None else b""
        except OSError as error:
            return error.errno or EIO

    cdef void begin(self, State* state):
        """Perform jobs of an engine that has a log; once."""
        self.state = state
        self.files(&state.files)
        bodies_begin(&self.reader, &state.files, state.log.salt, &state.log.keys)
        bodies_begin(&self.scrubber, &state.files, state.log.salt, &state.log.keys)
        self.has_begun = True

    cdef bint _read_of(self, ReadJob** asked, ReadJob** taken, BodyReader* reader) noexcept nogil:
        """Read the oldest of some jobs; False: there is none."""
        cdef ReadJob* job = taken[0]
        cdef ReadJob* newer = NULL
        if job == NULL:
            newer = <ReadJob*> chain_take(<void**> asked)
        while newer != NULL:
            job = newer
            newer = job.next
            job.next = taken[0]
            taken[0] = job
        if job == NULL:
            return False
        read_perform(job, reader)
        self.keep(job.group, job.rows, job.row_count, &job.lost)
        taken[0] = job.next
        chain_push(<void**> &self.state.reads_performed, job, job)
        return True

    cdef bint read_one(self) noexcept nogil:
        """Read what has waited longest; False: nothing does."""
        return self._read_of(&self.state.reads, &self.state.reads_taken, &self.reader)

    cdef bint scrub_one(self) noexcept nogil:
        """Read something that nobody waits for; False: there is nothing."""
        return self._read_of(&self.state.scrubs, &self.state.scrubs_taken, &self.scrubber)

    cdef void forget(self, uint64_t group, uint64_t file) noexcept nogil:
        """Close a segment that is removed."""
        bodies_forget(&self.reader, group, file)
        bodies_forget(&self.scrubber, group, file)

    cdef void keep(self, uint64_t group, const SegmentRow* rows, size_t count, const Buffer* lost) noexcept nogil:
        """Let segments stay for people from which messages could not be read, LiveRuns."""

    def read(self) -> bool:
        """Read what has waited longest for it, or what nobody waits for; False: there is nothing."""
        return self.read_one() or self.scrub_one()

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
            self.forget(job.removed[at].group, job.removed[at].file)
        if job.removed != NULL:
            return effects
        if job.arrival != NULL:
            if not segment_move(job.sent, job.sent_bytes, &job.sender, &job.place):
                self.error = EBADMSG
                return []
            return [*self.effects(job, job.place.group, job.place.file, job.sent, job.sent_bytes), (Effect.SYNC_DIRECTORY,)]
        while save_next(&job.save, &writer, &self.reader):
            effects += self.effects(job, job.save.group, job.save.next_file - 1, writer.out.chars, writer.out.used)
            save_took(&job.save, &writer)
        return effects + self.syncs(job) if job.is_synced else effects

    cdef list syncs(self, const SegmentJob* job):
        """Return what syncs that which earlier saves have left, and the names."""
        cdef const SegmentRow* rows = <const SegmentRow*> job.save.rows.chars
        cdef char[NAME_BYTES] name
        cdef size_t at
        effects = []
        for at in range(job.save.rows.used // sizeof(SegmentRow)):
            if job.synced_below <= rows[at].file < job.save.first_file:
                _name(name, job.save.group, rows[at].file)
                effects.append((Effect.SYNC, (<char*> name).decode()))
        return [*effects, (Effect.SYNC_DIRECTORY,)]

    cdef list effects(self, const SegmentJob* job, uint64_t group, uint64_t file, const char* chars, uint64_t length):
        """Return what writes a file."""
        cdef char[NAME_BYTES] name
        _name(name, group, file)
        data, text = _stored(&self.state.log.keys, group, file, chars, length), (<char*> name).decode()
        effects = [(Effect.ALLOCATE, text, len(data)), (Effect.WRITE, text, 0, data)]
        return [*effects, (Effect.SYNC, text)] if job.is_synced else effects

    def done(self, int error=0):
        """Hear how the job went: errno of what failed, or 0."""
        error = error or self.error
        self.error = 0
        if self.state.taken.save.has_failed and not error:
            error = self.state.taken.save.error or ENOMEM
        self.state.taken.spoils_unsynced = error != 0 and self.state.taken.is_synced
        self.job_done(self.state.taken, error)


# ---- in a folder -----------------------------------------------------------------------------------------------------------


cdef int64_t _open_file(void* place, uint64_t group, uint64_t file) noexcept nogil:
    cdef const Place* where = <const Place*> place
    cdef char[NAME_BYTES] name
    cdef int fd, error
    _name(name, group, file)
    fd = openat(where.folder, name, O_RDONLY | O_CLOEXEC)
    if fd >= 0:
        return fd
    error = errno
    if error == ENOENT and _is_kept(where, group, file):
        _ask(where, ASK_FETCH, 0, group, file)
        return -EREMOTE
    return -error


cdef int64_t _size_of_file(void* place, int64_t handle) noexcept nogil:
    cdef int64_t size = lseek(<int> handle, 0, SEEK_END)
    return size if size >= 0 else -errno


cdef int _read_file(void* place, int64_t handle, uint64_t offset, char* into, size_t length) noexcept nogil:
    cdef size_t at = 0
    cdef ssize_t count
    while at < length:
        count = pread(<int> handle, into + at, length - at, <long> (offset + at))
        if count == 0:
            return LOST
        if count > 0:
            at += count
        elif errno != EINTR:
            return errno
    return 0


cdef void _close_file(void* place, int64_t handle) noexcept nogil:
    close(<int> handle)


cdef void _uncache_file(void* place, int64_t handle) noexcept nogil:
    posix_fadvise(<int> handle, 0, 0, POSIX_FADV_DONTNEED)


@cython.final
cdef class SegmentThread(SegmentJobs):
    """Perform jobs in a folder; `run` is what the thread does.

    Args:
        folder: Exists.
        told_fd: An eventfd that gets eight bytes when a job is done.
        asks_fd: A pipe, which does not block, that gets what storage kinds are to do; below 0: there are none.

    Raises:
        OSError: The folder can't be opened.
    """

    cdef int folder
    cdef int told_fd
    cdef Place place
    cdef bint is_stopping
    cdef bint is_trim_due
    # What was in memory for a save is in the heap of several threads, and would stay there.

    def __cinit__(self, folder not None, int told_fd, int asks_fd=-1):
        self.folder = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self.place.folder = self.folder
        self.place.asks_fd = asks_fd
        self.fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self.told_fd = told_fd

    def __init__(self, folder: object, told_fd: int, asks_fd: int = -1) -> None:
        pass

    def __dealloc__(self):
        if self.folder:
            close(self.folder)
        if self.fd > 0:
            close(self.fd)

    cdef void files(self, SegmentFiles* files):
        files.self = &self.place
        files.open = _open_file
        files.size = _size_of_file
        files.read = _read_file
        files.close = _close_file
        files.uncache = _uncache_file

    cdef void keep(self, uint64_t group, const SegmentRow* rows, size_t count, const Buffer* lost) noexcept nogil:
        cdef const LiveRun* runs = <const LiveRun*> lost.chars
        cdef char[NAME_BYTES] name, kept
        cdef size_t row, at
        for row in range(count if lost.used else 0):
            for at in range(lost.used // sizeof(LiveRun)):
                if runs[at].first_seq <= rows[row].last_seq and rows[row].first_seq < runs[at].first_seq + runs[at].count:
                    _name(name, group, rows[row].file)
                    snprintf(
                        kept, NAME_BYTES, "%010llu-%010llu.damaged", <unsigned long long> group, <unsigned long long> rows[row].file
                    )
                    linkat(self.folder, name, self.folder, kept, 0)
                    break

    cdef void _read_waiting(self) noexcept nogil:
        """Read what somebody waits for, between two pieces of something longer; and what nobody did when it was asked for: now some may."""
        cdef int left = READS_MAX
        while left and not self.is_stopping and (self.read_one() or self.scrub_one()):
            left -= 1
        if left < READS_MAX:
            self._tell()

    cdef void _tell(self) noexcept nogil:
        cdef uint64_t one = 1
        write(self.told_fd, &one, sizeof(one))

    cdef int _begin_file(self, SegmentWriting* it, const SegmentJob* job, uint64_t group, uint64_t file) noexcept nogil:
        """Make a file; errno, 0: done."""
        cdef char[NAME_BYTES] name
        _name(name, group, file)
        return segment_file_begin(it, self.folder, name, job.is_synced)

    cdef int _write(self, SegmentWriting* it, const char* chars, uint64_t length) noexcept nogil:
        """Write what comes next, and sync it now and then if it is to be; errno, 0: done."""
        cdef uint64_t at = 0, count
        cdef int error = 0
        while not error and at < length:
            count = min(length - at, <uint64_t> PIECE_BYTES)
            error = segment_file_add(it, chars + at, count)
            at += count
            if self.is_stopping:
                error = EINTR
            if not error and it.is_synced and it.at - it.synced >= SYNC_BYTES:
                error = segment_file_sync(it, it.at)
            self._read_waiting()
        return error

    cdef int _sync_file(self, uint64_t group, uint64_t file) noexcept nogil:
        """Sync what an earlier save has left to the page cache; errno, 0: done."""
        cdef SegmentWriting it
        cdef char[NAME_BYTES] name
        cdef int error
        _name(name, group, file)
        error = segment_file_open(&it, self.folder, name)
        while not error and it.synced + SYNC_BYTES < it.at:
            error = EINTR if self.is_stopping else segment_file_sync(&it, it.synced + SYNC_BYTES)
            self._read_waiting()
        return segment_file_end(&it, error)

    cdef int _sync_earlier(self, SegmentJob* job) noexcept nogil:
        """Sync what earlier saves have left, then names; errno, 0: done."""
        cdef const SegmentRow* rows = <const SegmentRow*> job.save.rows.chars
        cdef size_t at
        cdef int error = 0
        for at in range(job.save.rows.used // sizeof(SegmentRow)):
            if job.synced_below <= rows[at].file < job.save.first_file and not error:
                error = self._sync_file(job.save.group, rows[at].file)
        if not error and fsync(self.folder):
            error = errno
        job.spoils_unsynced = error != 0 and not self.is_stopping
        return error

    cdef int _write_encrypted(self, SegmentWriting* it, uint64_t group, uint64_t file, const char* chars, uint64_t length) noexcept nogil:
        cdef Pages pages
        cdef uint64_t page = 0, count, end = (length + PAGE_BYTES - 1) // PAGE_BYTES
        cdef int error = 0
        cdef char* piece = <char*> malloc(PAGES_AT + PIECE_PAGES * (PAGE_BYTES + PAGE_MORE))
        if piece == NULL:
            return ENOMEM
        pages_new(&self.state.log.keys, group, file, length, &pages)
        while not error and page < end:
            count = min(end - page, <uint64_t> PIECE_PAGES)
            error = self._write(it, piece, pages_write(&pages, chars, page, count, piece))
            page += count
        free(piece)
        return error

    cdef int _write_file(
        self, const SegmentJob* job, uint64_t group, uint64_t file, const char* chars, uint64_t length
    ) noexcept nogil:
        """Make a segment, encrypted if it has to be, and synced; errno, 0: done."""
        cdef SegmentWriting it
        cdef int error = self._begin_file(&it, job, group, file)
        if not error and self.state.log.keys.cipher:
            error = self._write_encrypted(&it, group, file, chars, length)
        elif not error:
            error = self._write(&it, chars, length)
        return segment_file_end(&it, error)

    cdef int _save_files(self, SegmentJob* job) noexcept nogil:
        """Write all files of a save, piece by piece unless they are encrypted; errno, 0: done."""
        cdef SegmentWriter writer
        cdef SegmentWriting it
        cdef int error = 0
        it.fd = -1
        job.save.piece_bytes = 0 if self.state.log.keys.cipher else PIECE_BYTES
        while not error and save_next(&job.save, &writer, &self.reader):
            if self.state.log.keys.cipher:
                error = self._write_file(job, job.save.group, job.save.next_file - 1, writer.out.chars, writer.out.used)
            else:
                if it.fd < 0:
                    error = self._begin_file(&it, job, job.save.group, job.save.next_file - 1)
                if not error:
                    error = self._write(&it, writer.out.chars, writer.out.used)
                if not job.save.is_writing:
                    error = segment_file_end(&it, error)
            save_took(&job.save, &writer)
        save_leave(&job.save, &writer)
        return segment_file_end(&it, error if error else job.save.error) if it.fd >= 0 else error

    cdef int _save(self, SegmentJob* job) noexcept nogil:
        """Write all files of a save, then sync what is left, and the names, if it is to be synced; errno, 0: done."""
        cdef uint64_t file
        cdef int error = self._save_files(job)
        self.keep(
            job.save.group, <const SegmentRow*> job.save.sources.chars, job.save.sources.used // sizeof(SegmentRow), &job.save.lost
        )
        if job.save.has_failed:
            return job.save.error if job.save.error else ENOMEM
        if not error and job.is_synced:
            error = self._sync_earlier(job)
        if not error and job.storage_kind and self.place.asks_fd >= 0:
            for file in range(job.save.first_file, job.save.next_file):
                _ask(&self.place, ASK_KEEP, job.storage_kind, job.save.group, file)
        self.is_trim_due = True
        return error

    cdef int _take_in(self, SegmentJob* job) noexcept nogil:
        """Write a segment that another server has sent, then its name; errno, 0: done."""
        cdef int error
        if not segment_move(job.sent, job.sent_bytes, &job.sender, &job.place):
            return EBADMSG
        error = self._write_file(job, job.place.group, job.place.file, job.sent, job.sent_bytes)
        if not error and fsync(self.folder):
            error = errno
        if not error and job.storage_kind and self.place.asks_fd >= 0:
            _ask(&self.place, ASK_KEEP, job.storage_kind, job.place.group, job.place.file)
        return error

    cdef int _perform(self, SegmentJob* job) noexcept nogil:
        cdef char[NAME_BYTES] name
        cdef size_t at
        if job.arrival != NULL:
            return self._take_in(job)
        if job.removed == NULL:
            return self._save(job)
        for at in range(job.removed_count):
            _name(name, job.removed[at].group, job.removed[at].file)
            self.forget(job.removed[at].group, job.removed[at].file)
            unlinkat(self.folder, name, 0)
            if _is_kept(&self.place, job.removed[at].group, job.removed[at].file):
                _ask(&self.place, ASK_REMOVE, 0, job.removed[at].group, job.removed[at].file)
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
                # What nobody wanted when it was asked for is little, and somebody may wait for it since.
                if self.read_one() | self.scrub_one():
                    self._tell()
                    continue
                job = self.next_job()
                if job != NULL:
                    self.job_done(job, self._perform(job))
                    self._tell()
                    continue
                if poll(&waits, 1, TRIM_MS if self.is_trim_due else -1) == 0:
                    # Nothing has come since: else the next save would touch anew what this one gave back.
                    malloc_trim(0)
                    self.is_trim_due = False
                    continue
                read(self.fd, &one, sizeof(one))
                one = 1

    def stop(self) -> None:
        """Let `run` end, in the middle of a job as well: what that has written is removed by the next start."""
        cdef uint64_t one = 1
        self.is_stopping = True
        write(self.fd, &one, sizeof(one))
