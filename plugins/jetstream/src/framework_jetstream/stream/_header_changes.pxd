"""The C face of header blocks that are changed; see `_header_changes.pyx`."""

from libc.stdint cimport uint32_t, uint64_t

from framework_jetstream.stream._headers cimport Text
from framework_jetstream.stream._subject_terms cimport Room


cdef bint header_add(Room* rooms, Text* header, const char* name, Text value) noexcept nogil
cdef bint header_set(Room* rooms, Text* header, const char* name, Text value) noexcept nogil
cdef bint header_add_number(Room* rooms, Text* header, const char* name, uint64_t value) noexcept nogil
cdef bint header_drop(Room* rooms, Text* header, const char* name) noexcept nogil
cdef bint header_drop_all(Room* rooms, Text* header, const char* prefix) noexcept nogil
