"""Give back the memory of the process, write its last line, and end it.

The kernel takes milliseconds to take 34 MiB apart, and on a busy machine many more. What is done before the last line
keeps nobody waiting who reads it.
"""

from libc.errno cimport errno
from libc.stdint cimport uintptr_t
from libc.string cimport memchr, memcmp, memcpy
from posix.fcntl cimport O_RDONLY, open
from posix.mman cimport munmap
from posix.unistd cimport _exit, read, write

cdef enum:
    MAPS_BYTES = 256 * 1024  # of /proc/self/maps: 2,000 mappings; of more, none is given back
    LINE_BYTES = 4096
    PIECE_BYTES = 256 * 1024  # smaller pieces of memory stay


cdef struct Mapping:
    uintptr_t start
    uintptr_t end
    const char* name  # of a file, or such as `[stack]`; NULL: none
    Py_ssize_t name_bytes


def release_and_exit(int fd, bytes line not None, int exit_status):
    """End the process at once, which has one thread and needs nothing any more; `line` goes to `fd` as the last of it.

    Linux only. All signals have to be blocked. Raises ValueError, and does nothing, if the line is longer than 4,096 bytes.
    """
    cdef char last[LINE_BYTES]
    cdef Py_ssize_t line_bytes = len(line)
    if line_bytes > LINE_BYTES:
        raise ValueError(f"a line of {line_bytes} bytes is too long")
    memcpy(last, <const char*> line, line_bytes)
    with nogil:
        _release()
        # Nothing of Python is there any more.
        write(fd, last, line_bytes)
        _exit(exit_status)


cdef void _release() noexcept nogil:
    """Unmap all but the stack, small pieces, and this library and libc, whose functions do it, with their memory.

    The kernel joins pieces of memory that touch each other, so what libc keeps for itself and for its thread may be at the
    edge of a large one.
    """
    cdef char text[MAPS_BYTES]
    cdef Py_ssize_t text_bytes = _read_maps(text)
    cdef const char* at = text
    cdef const char* end = text + text_bytes
    cdef Mapping ours, libc, each
    cdef uintptr_t of_thread = <uintptr_t> &errno
    cdef uintptr_t libc_end = 0
    if not _find(text, end, <uintptr_t> <void*> &_release, &ours) or not _find(text, end, <uintptr_t> <void*> &munmap, &libc):
        return
    while at < end:
        at = _parse(at, end, &each)
        if _is_same_file(&each, &libc):
            libc_end = each.end
        elif each.start <= of_thread < each.end or each.start == libc_end:
            continue
        elif _is_releasable(&each) and not _is_same_file(&each, &ours):
            munmap(<void*> each.start, each.end - each.start)


cdef Py_ssize_t _read_maps(char* text) noexcept nogil:
    """Return the length; 0: they can't be read as a whole."""
    cdef int fd = open("/proc/self/maps", O_RDONLY)
    cdef Py_ssize_t length = 0, got = 1
    while got > 0 and length < MAPS_BYTES:
        got = read(fd, text + length, MAPS_BYTES - length)
        length += got
    return 0 if got else length


cdef bint _is_releasable(Mapping* each) noexcept nogil:
    if each.name == NULL or (each.name_bytes == 6 and memcmp(each.name, b"[heap]", 6) == 0):
        return each.end - each.start >= PIECE_BYTES
    return each.name[0] == c"/"


cdef bint _is_same_file(Mapping* one, Mapping* other) noexcept nogil:
    return one.name != NULL and one.name_bytes == other.name_bytes and memcmp(one.name, other.name, one.name_bytes) == 0


cdef bint _find(const char* at, const char* end, uintptr_t address, Mapping* into) noexcept nogil:
    while at < end:
        at = _parse(at, end, into)
        if into.start <= address < into.end and into.name != NULL:
            return True
    return False


cdef const char* _parse(const char* at, const char* end, Mapping* into) noexcept nogil:
    """Read one line, such as `7f0a-7f0c r-xp 00001000 fe:01 42    /usr/lib/x.so`; return where the next one begins."""
    cdef const char* stop = <const char*> memchr(at, c"\n", end - at)
    if stop == NULL:
        stop = end
    at = _number(at, &into.start) + 1
    at = _number(at, &into.end)
    while at < stop and at[0] != c"/" and at[0] != c"[":
        at += 1
    into.name = at if at < stop else NULL
    into.name_bytes = stop - at
    return stop + 1


cdef const char* _number(const char* at, uintptr_t* into) noexcept nogil:
    """Read a hexadecimal number; return what follows it."""
    into[0] = 0
    while True:
        if c"0" <= at[0] <= c"9":
            into[0] = into[0] * 16 + at[0] - c"0"
        elif c"a" <= at[0] <= c"f":
            into[0] = into[0] * 16 + at[0] - c"a" + 10
        else:
            return at
        at += 1
