"""What becomes of the subjects of a source: its transforms, of which the first one that fits counts."""

from libc.stdint cimport uint32_t
from libc.stdlib cimport calloc, free

from framework.sublist._transform cimport is_subset, transform_free, transform_new


cdef Programs* programs_made(list programs) except? NULL:
    """Return programs of `framework.sublist.transform` as the engine runs them; NULL: there are none."""
    cdef Programs* made
    if not programs:
        return NULL
    made = <Programs*> calloc(1, sizeof(Programs) + len(programs) * sizeof(Transform*))
    if made == NULL:
        raise MemoryError
    made.rows = <Transform**> (made + 1)
    try:
        for program in programs:
            made.rows[made.count] = transform_new(program)
            made.count += 1
    except BaseException:
        programs_free(made)
        raise
    return made


cdef void programs_free(Programs* self) noexcept nogil:
    cdef uint32_t at
    if self == NULL:
        return
    for at in range(self.count):
        transform_free(self.rows[at])
    free(self)


cdef const Transform* programs_find(const Programs* self, const char* subject, size_t length) noexcept nogil:
    """Return what becomes of a subject; NULL: it stays."""
    cdef uint32_t at
    if self == NULL:
        return NULL
    for at in range(self.count):
        if is_subset(subject, length, self.rows[at].source, self.rows[at].source_length):
            return self.rows[at]
    return NULL
