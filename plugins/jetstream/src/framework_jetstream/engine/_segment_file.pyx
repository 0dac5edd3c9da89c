"""A file of a segment: written by pieces, and synced by pieces, at once or later; nothing but system calls.

It goes through the page cache: from there it is read back before the disk has it, and what is removed soon never goes there.
"""

from libc.errno cimport EINTR, EIO, errno
from libc.stdint cimport uint64_t
from posix.fcntl cimport O_CLOEXEC, O_CREAT, O_EXCL, O_WRONLY

cdef extern from "fcntl.h" nogil:
    int openat(int folder, const char* name, int flags, ...)

cdef extern from *:
    """
    #if defined(__linux__)
    static int write_back(int fd, long begin, long count) {
        return sync_file_range(
            fd, begin, count, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
    }
    #else
    static int write_back(int fd, long begin, long count) { (void) begin; (void) count; return fdatasync(fd); }
    #endif
    """
    int write_back(int fd, long begin, long count) nogil

cdef extern from "unistd.h" nogil:
    int close(int fd)
    int fdatasync(int fd)
    long lseek(int fd, long offset, int whence)
    enum:
        SEEK_END
    ssize_t pwrite(int fd, const void* source, size_t count, long offset)

cdef enum:
    MODE = 0o640


cdef int segment_file_begin(SegmentWriting* it, int folder, const char* name, bint is_synced) noexcept nogil:
    """Make a file; errno, 0: done.

    Args:
        is_synced: It is to be on the disk when it ends; else the kernel writes it when it likes.
    """
    it.at = it.synced = 0
    it.is_synced = is_synced
    it.fd = openat(folder, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, MODE)
    return 0 if it.fd >= 0 else errno


cdef int segment_file_open(SegmentWriting* it, int folder, const char* name) noexcept nogil:
    """Have a file that was left to the kernel, to sync it; errno, 0: done."""
    cdef long size
    it.at = it.synced = 0
    it.is_synced = True
    it.fd = openat(folder, name, O_WRONLY | O_CLOEXEC)
    size = lseek(it.fd, 0, SEEK_END) if it.fd >= 0 else -1
    if size < 0:
        return errno
    it.at = <uint64_t> size
    return 0


cdef int segment_file_add(SegmentWriting* it, const char* chars, uint64_t length) noexcept nogil:
    """Write what comes next; errno, 0: done."""
    cdef uint64_t at = 0
    cdef ssize_t count
    while at < length:
        count = pwrite(it.fd, chars + at, length - at, <long> it.at)
        if count < 0 and errno == EINTR:
            continue
        if count <= 0:
            return errno if count else EIO
        at += count
        it.at += count
    return 0


cdef int segment_file_sync(SegmentWriting* it, uint64_t end) noexcept nogil:
    """Have the disk write up to somewhere; errno, 0: done. Only the end of the file makes it durable."""
    cdef uint64_t begin = it.synced
    it.synced = end
    return errno if write_back(it.fd, <long> begin, <long> (end - begin)) else 0


cdef int segment_file_end(SegmentWriting* it, int error) noexcept nogil:
    """Sync a file if it is to be, unless there was an error, and close it; errno, 0: done."""
    if not error and it.is_synced and fdatasync(it.fd):
        error = errno
    if it.fd >= 0:
        close(it.fd)
    it.fd = -1
    return error
