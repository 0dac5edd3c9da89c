"""The C face of header blocks; see `_headers.pyx`."""

from framework.dataplane._state cimport Block, Message


cdef const char* header_value(
    const char* header, size_t length, const char* key, size_t key_length, bint any_case, size_t* value_length
) noexcept nogil
cdef Block* header_set(
    Message* message, const char* key, size_t key_length, const char* value, size_t value_length
) noexcept nogil
