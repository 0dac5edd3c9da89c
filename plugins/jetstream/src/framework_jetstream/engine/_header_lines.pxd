"""Lines of header blocks that the engine writes."""

from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy

from framework.sublist._bytes cimport write_decimal


cdef inline uint32_t write_line(char* to, const char* name, uint32_t name_length, const char* value, uint32_t length) noexcept nogil:
    """Write a header; return its length. The name has its colon and a blank."""
    memcpy(to, name, name_length)
    memcpy(to + name_length, value, length)
    memcpy(to + name_length + length, b"\r\n", 2)
    return name_length + length + 2


cdef inline uint32_t write_number_line(char* to, const char* name, uint32_t name_length, uint64_t value) noexcept nogil:
    cdef char digits[24]
    return write_line(to, name, name_length, digits, <uint32_t> write_decimal(digits, value))
