"""Perform rounds in a folder; nothing but system calls.

A write that is interrupted goes on; any other error is handed on, and nothing is tried again: after a sync that failed, the kernel may
call written what is not.

Blocks that a file system has set aside and nobody has written yet are dear: to sync what is written there commits its journal as well.
Small rounds in a new file therefore write zeros ahead, which were there before.
"""

from libc.errno cimport EINTR, EIO, ENOMEM, errno
from libc.stdint cimport uint32_t, uint64_t
from libc.stdio cimport snprintf
from libc.stdlib cimport free, realloc
from posix.fcntl cimport O_CLOEXEC, O_CREAT, O_RDWR
from posix.uio cimport iovec

from framework_jetstream.log._log cimport LogRound
from framework_jetstream.log._seals cimport round_encrypt

cdef extern from "fcntl.h" nogil:
    int openat(int folder, const char* name, int flags, ...)
    int posix_fallocate(int fd, long offset, long length)

cdef extern from *:
    """
    #if defined(__linux__)
    static void begin_writeback(int fd) { sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE); }
    #else
    static void begin_writeback(int fd) { (void) fd; }
    #endif
    """
    void begin_writeback(int fd) nogil

cdef extern from "stdio.h" nogil:
    int renameat(int folder, const char* old, int new_folder, const char* new)

cdef extern from "sys/uio.h" nogil:
    ssize_t pwritev(int fd, const iovec* pieces, int count, long offset)

cdef extern from "unistd.h" nogil:
    int close(int fd)
    int fsync(int fd)
    int fdatasync(int fd)
    ssize_t pwrite(int fd, const void* source, size_t count, long offset)
    int unlinkat(int folder, const char* name, int flags)

cdef enum:
    NAME_BYTES = 40
    PIECES_MAX = 64  # a piece is a block of 1 MiB, or the rest of one
    WRITE_BYTES = 1 << 20  # at once: for longer ones the kernel takes huge pages, which a virtual machine may have given back
    AHEAD_BYTES = 131072
    AHEAD_ROUND_MAX = 16384  # a larger round takes longer than a commit: it need not be written twice
    BEHIND_MAX = 4  # as `_disk.pxd` has it

cdef char[AHEAD_BYTES] ZEROS


cdef void _name(char* name, uint64_t number, const char* suffix) noexcept nogil:
    snprintf(name, NAME_BYTES, "%010llu.%s", <unsigned long long> number, suffix)


cdef void disk_close(LogDisk* disk) noexcept nogil:
    if disk.file:
        close(disk.fd)
        disk.file = 0
    while disk.behind_count:
        disk.behind_count -= 1
        close(disk.behind[disk.behind_count])
    free(disk.encrypted)
    disk.encrypted = NULL
    disk.encrypted_room = 0


cdef int _sync_behind(LogDisk* disk, uint32_t count) noexcept nogil:
    """Sync the oldest files that have what was not synced, and close them; errno, 0: done."""
    cdef uint32_t at
    cdef int error = 0
    for at in range(count):
        if not error and fdatasync(disk.behind[at]):
            error = errno
        close(disk.behind[at])
    for at in range(count, disk.behind_count):
        disk.behind[at - count] = disk.behind[at]
    disk.behind_count -= count
    return error


cdef int _leave_unsynced(LogDisk* disk) noexcept nogil:
    """Go on to another file while this one has what was not synced; the kernel begins with that. errno, 0: done."""
    cdef int error = 0
    if disk.behind_count == BEHIND_MAX:
        error = _sync_behind(disk, 1)
    begin_writeback(disk.fd)
    disk.behind[disk.behind_count] = disk.fd
    disk.behind_count += 1
    disk.is_unsynced = False
    return error


cdef int _sync(LogDisk* disk) noexcept nogil:
    """Sync all that was written, in order; errno, 0: done."""
    cdef int error = _sync_behind(disk, disk.behind_count)
    if not error and fdatasync(disk.fd):
        error = errno
    disk.is_unsynced = False
    return error


cdef int _open(LogDisk* disk, uint64_t number, int flags) noexcept nogil:
    cdef char[NAME_BYTES] name
    cdef int error = 0
    if disk.file == number:
        return 0
    if disk.is_unsynced:
        error = _leave_unsynced(disk)
    elif disk.file:
        close(disk.fd)
    disk.file = 0
    if error:
        return error
    _name(name, number, b"log")
    disk.fd = openat(disk.folder, name, flags | O_RDWR | O_CLOEXEC, 0o640)
    if disk.fd < 0:
        return errno
    disk.file = number
    return 0


cdef int _make(LogDisk* disk, LogRound* it) noexcept nogil:
    """Make a file, with its blocks, so that it cannot lack them later; and make its name durable."""
    cdef char[NAME_BYTES] old, new
    cdef int fd, error
    _name(new, it.made_file, b"log")
    if it.recycled:
        _name(old, it.recycled, b"log")
        if renameat(disk.folder, old, disk.folder, new):
            return errno
    disk.new_file = it.made_file if it.is_unwritten or not it.recycled else 0
    disk.written_to = 0
    fd = openat(disk.folder, new, O_CREAT | O_RDWR | O_CLOEXEC, 0o640)
    if fd < 0:
        return errno
    error = posix_fallocate(fd, 0, <long> it.made_bytes)
    close(fd)
    if not error and fsync(disk.folder):
        error = errno
    return error


cdef int _encrypt(LogDisk* disk, const LogRound* it) noexcept nogil:
    """Let `encrypted` be what a round writes; errno, 0: done."""
    cdef char* grown
    if it.length > disk.encrypted_room:
        grown = <char*> realloc(disk.encrypted, it.length)
        if grown == NULL:
            return ENOMEM
        disk.encrypted = grown
        disk.encrypted_room = it.length
    round_encrypt(it, disk.encrypted)
    return 0


cdef int _write_encrypted(LogDisk* disk, const LogRound* it) noexcept nogil:
    cdef iovec whole
    cdef int error = _encrypt(disk, it)
    whole.iov_base = disk.encrypted
    whole.iov_len = it.length
    return error if error else _write(disk, &whole, 1, it.offset)


cdef int _gather(iovec* into, const iovec* pieces, uint32_t count, uint64_t begin) noexcept nogil:
    """Take what one write has, from a byte of the first piece on; return in how many pieces."""
    cdef uint64_t left = WRITE_BYTES
    cdef uint32_t taken = 0
    while taken < count and taken < PIECES_MAX and left:
        into[taken].iov_base = <char*> pieces[taken].iov_base + begin
        into[taken].iov_len = min(pieces[taken].iov_len - begin, left)
        left -= into[taken].iov_len
        begin = 0
        taken += 1
    return <int> taken


cdef int _write(LogDisk* disk, const iovec* pieces, uint32_t count, uint64_t offset) noexcept nogil:
    cdef iovec[PIECES_MAX] some
    cdef uint64_t written = 0  # of the first piece
    cdef ssize_t done
    while count:
        done = pwritev(disk.fd, some, _gather(some, pieces, count, written), <long> offset)
        if done < 0 and errno == EINTR:
            continue
        if done <= 0:
            return errno if done else EIO
        offset += done
        written += done
        while count and written >= pieces.iov_len:
            written -= pieces.iov_len
            pieces += 1
            count -= 1
    return 0


cdef int _write_ahead(LogDisk* disk, LogRound* it) noexcept nogil:
    """Write zeros behind a round where nothing was written before; errno, 0: done."""
    cdef uint64_t end = it.offset + it.length, to
    cdef ssize_t done
    if it.file.number != disk.new_file or end <= disk.written_to:
        return 0
    disk.written_to = end
    if it.length > AHEAD_ROUND_MAX:
        return 0
    to = min(end + AHEAD_BYTES, it.file.size)
    while disk.written_to < to:
        done = pwrite(disk.fd, ZEROS, to - disk.written_to, <long> disk.written_to)
        if done < 0 and errno == EINTR:
            continue
        if done <= 0:
            return errno if done else EIO
        disk.written_to += done
    return 0


cdef int disk_perform(LogDisk* disk, LogRound* it) noexcept nogil:
    cdef char[NAME_BYTES] old, new
    cdef int error = 0
    it.made_error = _make(disk, it) if it.made_file else 0
    if it.file != NULL:
        error = _open(disk, it.file.number, 0)
        if not error and it.piece_count:
            error = _write_encrypted(disk, it) if it.file.key.cipher else _write(disk, it.pieces, it.piece_count, it.offset)
        if not it.is_mark and it.piece_count:
            disk.is_unsynced = True
        if not error and it.syncs and it.piece_count:
            error = _write_ahead(disk, it)
        if not error and it.syncs:
            error = _sync(disk)
        elif not error and it.synced_file and disk.behind_count:
            error = _sync_behind(disk, disk.behind_count - 1)  # all but the file that was left for this one
    if it.removed and not error:
        _name(old, it.removed, b"log")
        _name(new, it.removed, b"damaged")
        if it.is_kept:
            renameat(disk.folder, old, disk.folder, new)
        else:
            unlinkat(disk.folder, old, 0)
    return error
