"""Header blocks of messages that are stored otherwise than they came: written into one of two rooms, of which one may have what came.

Source: nats-server `client.go`, `genHeader`, `setHeader`, `removeHeaderIfPresent`.
"""

from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memchr, memcmp, memcpy, strlen

from framework.sublist._bytes cimport write_decimal
from framework_jetstream.stream._headers cimport header_value
from framework_jetstream.stream._subject_terms cimport room_for

cdef enum:
    STATUS_LINE = 10
    # `NATS/1.0` and the end of a line.
    DECIMAL_BYTES = 20


cdef char* _room_beside(Room* rooms, const Text* header, size_t size) noexcept nogil:
    """Return memory that is not where a block is now; NULL: there is none."""
    return room_for(&rooms[header.chars == rooms[0].chars and rooms[0].chars != NULL], size)


cdef bint header_add(Room* rooms, Text* header, const char* name, Text value) noexcept nogil:
    """Add a header behind all others, also to a message that had none; False: no memory.

    Args:
        rooms: Two.
    """
    cdef uint32_t used = STATUS_LINE, name_length = <uint32_t> strlen(name)
    cdef char* to = _room_beside(rooms, header, <size_t> header.length + STATUS_LINE + name_length + value.length + 6)
    if to == NULL:
        return False
    if header.length > 2:
        used = header.length - 2
        memcpy(to, header.chars, used)
    else:
        memcpy(to, b"NATS/1.0\r\n", STATUS_LINE)
    memcpy(to + used, name, name_length)
    used += name_length
    memcpy(to + used, b": ", 2)
    memcpy(to + used + 2, value.chars, value.length)
    used += value.length + 2
    memcpy(to + used, b"\r\n\r\n", 4)
    header.chars = to
    header.length = used + 4
    return True


cdef bint header_set(Room* rooms, Text* header, const char* name, Text value) noexcept nogil:
    """Give the first header of a name another value, or add it behind all others; False: no memory."""
    cdef Text known = header_value(header.chars, header.length, name, strlen(name))
    cdef uint32_t before, after
    cdef char* to
    if known.chars == NULL:
        return header_add(rooms, header, name, value)
    to = _room_beside(rooms, header, <size_t> header.length + value.length)
    if to == NULL:
        return False
    before = <uint32_t> (known.chars - header.chars)
    after = header.length - before - known.length
    memcpy(to, header.chars, before)
    memcpy(to + before, value.chars, value.length)
    memcpy(to + before + value.length, known.chars + known.length, after)
    header.chars = to
    header.length = before + value.length + after
    return True


cdef bint header_add_number(Room* rooms, Text* header, const char* name, uint64_t value) noexcept nogil:
    """Add a header with a number; False: no memory."""
    cdef char[DECIMAL_BYTES] digits
    cdef Text text
    text.chars = digits
    text.length = <uint32_t> write_decimal(digits, value)
    return header_add(rooms, header, name, text)


cdef bint _drop(Room* rooms, Text* header, const char* name, bint is_prefix) noexcept nogil:
    cdef const char* at = header.chars
    cdef const char* end = header.chars + header.length
    cdef const char* line_end
    cdef uint32_t name_length = <uint32_t> strlen(name), used = 0
    cdef char* to = _room_beside(rooms, header, <size_t> header.length + 1)
    cdef bint is_meant
    if to == NULL:
        return False
    while at < end:
        line_end = <const char*> memchr(at, c"\n", end - at)
        line_end = line_end + 1 if line_end != NULL else end
        is_meant = used > 0 and line_end - at > name_length and memcmp(at, name, name_length) == 0
        if not is_meant or not (is_prefix or at[name_length] == b":"):
            memcpy(to + used, at, line_end - at)
            used += <uint32_t> (line_end - at)
        at = line_end
    header.chars = to
    header.length = used if used > STATUS_LINE + 2 else 0
    return True


cdef bint header_drop(Room* rooms, Text* header, const char* name) noexcept nogil:
    """Leave out all headers of a name; False: no memory. A block without headers is none."""
    return _drop(rooms, header, name, False)


cdef bint header_drop_all(Room* rooms, Text* header, const char* prefix) noexcept nogil:
    """Leave out all headers whose names begin with a prefix; False: no memory."""
    return _drop(rooms, header, prefix, True)
