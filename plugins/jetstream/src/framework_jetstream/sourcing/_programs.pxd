"""The C face of what becomes of the subjects of a source; see `_programs.pyx`."""

from libc.stdint cimport uint32_t

from framework.sublist._transform cimport Transform


cdef struct Programs:
    # The first whose source holds a subject says what becomes of it.
    uint32_t count
    Transform** rows


cdef Programs* programs_made(list programs) except? NULL
cdef void programs_free(Programs* self) noexcept nogil
cdef const Transform* programs_find(const Programs* self, const char* subject, size_t length) noexcept nogil
