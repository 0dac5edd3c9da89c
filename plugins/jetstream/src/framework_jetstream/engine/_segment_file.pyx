"""A file of a segment that is being written, by pieces.

What nobody is about to read goes past the page cache (`O_DIRECT`): a page there costs more than the copy into it, is written to the disk
all the same, and takes the place of one that somebody reads. The disk takes whole sectors from memory that begins at one, so pieces are
gathered; what is left at the end goes through the cache. A file system that can't do it gets everything that way.
"""

from libc.errno cimport EINTR, EINVAL, EIO, errno
from libc.stdint cimport uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy
from posix.fcntl cimport F_SETFL, O_CLOEXEC, O_CREAT, O_EXCL, O_WRONLY, fcntl

cdef extern from "fcntl.h" nogil:
    enum:
        O_DIRECT
    int openat(int folder, const char* name, int flags, ...)

cdef extern from "stdlib.h" nogil:
    void* aligned_alloc(size_t alignment, size_t size)

cdef extern from "unistd.h" nogil:
    int close(int fd)
    int fdatasync(int fd)
    ssize_t pwrite(int fd, const void* source, size_t count, long offset)

cdef enum:
    SECTOR_BYTES = 4096
    # At most, of the disks that there are; pieces are whole ones.
    FLAGS = O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC
    MODE = 0o640


cdef int segment_file_begin(SegmentWriting* it, int folder, const char* name, bint is_direct) noexcept nogil:
    """Make a file; errno, 0: done.

    Args:
        is_direct: It is to go past the page cache, where that can be.
    """
    it.at = it.synced = it.used = 0
    it.piece = <char*> aligned_alloc(SECTOR_BYTES, PIECE_BYTES) if is_direct else NULL
    it.is_direct = it.piece != NULL
    it.fd = openat(folder, name, FLAGS | (O_DIRECT if it.is_direct else 0), MODE)
    if it.fd < 0 and errno == EINVAL and it.is_direct:
        # The file may have been made all the same.
        it.is_direct = False
        it.fd = openat(folder, name, FLAGS & ~O_EXCL, MODE)
    return 0 if it.fd >= 0 else errno


cdef int _leave_direct(SegmentWriting* it) noexcept nogil:
    """Write what comes through the page cache; errno, 0: done."""
    it.is_direct = False
    return errno if fcntl(it.fd, F_SETFL, 0) else 0


cdef int _put(SegmentWriting* it, const char* chars, uint64_t length) noexcept nogil:
    """Write what comes next; errno, 0: done."""
    cdef uint64_t at = 0
    cdef ssize_t count
    cdef int error = 0
    while not error and at < length:
        count = pwrite(it.fd, chars + at, length - at, <long> it.at)
        if count > 0:
            at += count
            it.at += count
        elif count == 0:
            error = EIO
        elif errno == EINVAL and it.is_direct:
            # Its sectors are larger, or it took a part of one.
            error = _leave_direct(it)
        elif errno != EINTR:
            error = errno
    return error


cdef uint64_t segment_file_add(SegmentWriting* it, const char* chars, uint64_t length, int* error) noexcept nogil:
    """Take at most a piece of what comes next, and write what is due; return how much was taken.

    Args:
        error: errno; 0: it went well.
    """
    cdef uint64_t count = min(length, <uint64_t> PIECE_BYTES - it.used)
    if it.piece == NULL:
        error[0] = _put(it, chars, count)
        return count
    memcpy(it.piece + it.used, chars, count)
    it.used += count
    if it.used == PIECE_BYTES:
        it.used = 0
        error[0] = _put(it, it.piece, PIECE_BYTES)
    return count


cdef int segment_file_sync(SegmentWriting* it) noexcept nogil:
    """Sync what is written; errno, 0: done."""
    it.synced = it.at
    return errno if fdatasync(it.fd) else 0


cdef int segment_file_end(SegmentWriting* it, int error) noexcept nogil:
    """Write and sync what is left of a file, unless there was an error, and close it; errno, 0: done."""
    if not error and it.is_direct:
        error = _leave_direct(it)
    if not error and it.used:
        error = _put(it, it.piece, it.used)
    if not error and it.at > it.synced:
        error = segment_file_sync(it)
    if it.fd >= 0:
        close(it.fd)
    free(it.piece)
    it.piece = NULL
    it.used = 0
    it.fd = -1
    return error
