"""Texts as Parquet has them: before each stands its length.

Source: Apache Parquet, "Encodings", "Plain".
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, uint8_t, uint32_t
from libc.string cimport memcpy


cdef inline int32_t _offset(const uint8_t* offsets, size_t at) noexcept nogil:
    cdef int32_t value
    memcpy(&value, offsets + at * sizeof(int32_t), sizeof(int32_t))
    return value


cdef inline bint _is_there(const uint8_t* bits, size_t at) noexcept nogil:
    return bits == NULL or bits[at >> 3] >> (at & 7) & 1


cdef Py_ssize_t _room(const uint8_t* offsets, size_t count, size_t chars, const uint8_t* bits) noexcept nogil:
    """Return how many bytes the texts take; negative: offsets that lead nowhere."""
    cdef Py_ssize_t room = 0
    cdef int32_t begin, end
    cdef size_t at
    for at in range(count):
        begin = _offset(offsets, at)
        end = _offset(offsets, at + 1)
        if begin < 0 or end < begin or <size_t> end > chars:
            return -1
        if _is_there(bits, at):
            room += <Py_ssize_t> sizeof(int32_t) + end - begin
    return room


cdef void _write(char* to, const uint8_t* offsets, size_t count, const uint8_t* chars, const uint8_t* bits) noexcept nogil:
    cdef int32_t begin
    cdef uint32_t length
    cdef size_t at
    for at in range(count):
        if not _is_there(bits, at):
            continue
        begin = _offset(offsets, at)
        length = <uint32_t> (_offset(offsets, at + 1) - begin)
        memcpy(to, &length, sizeof(length))
        memcpy(to + sizeof(length), chars + begin, length)
        to += sizeof(length) + length


def plain_texts(const uint8_t[::1] offsets not None, const uint8_t[::1] chars not None, const uint8_t[::1] bits not None):
    """Return texts of an Arrow column, those that are there, each behind its length.

    Args:
        offsets: Numbers of 32 bits: where each begins, and where the last one ends.
        chars: All texts.
        bits: One a text, the lowest first: it is there; empty: all are.

    Raises:
        ValueError: The offsets lead out of the texts, or there are too few bits.
    """
    cdef size_t count = offsets.shape[0] // sizeof(int32_t)
    cdef const uint8_t* at = &offsets[0] if count else NULL
    cdef const uint8_t* texts = &chars[0] if chars.shape[0] else NULL
    cdef const uint8_t* there = &bits[0] if bits.shape[0] else NULL
    cdef size_t size = chars.shape[0]
    cdef Py_ssize_t room
    cdef bytes made
    cdef char* to
    if count < 2:
        return b""
    count -= 1
    if there != NULL and <size_t> bits.shape[0] * 8 < count:
        raise ValueError("too few bits")
    with nogil:
        room = _room(at, count, size, there)
    if room < 0:
        raise ValueError("offsets out of the texts")
    made = PyBytes_FromStringAndSize(NULL, room)
    to = PyBytes_AS_STRING(made)
    with nogil:
        _write(to, at, count, texts, there)
    return made
